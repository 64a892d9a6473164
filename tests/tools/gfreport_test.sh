#!/usr/bin/env bash
# gfreport makes one page that needs nothing but itself, and refuses what it cannot read.
set -uo pipefail
gfreport=tools/gfreport/gfreport
out=${TEST_TMPDIR:-$(mktemp -d)}

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

python3 - "$out" <<'PY' || fail "the runs"
import json
import os
import sys
for name, ranks, rate in (("one", 1, 100.0), ("<b>two", 2, 190.0)):
    folder = os.path.join(sys.argv[1], name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "telemetry.jsonl"), "w") as f:
        settings = {"ranks": "%d on 1 host" % ranks, "images per step": "%d" % (32 * ranks),
                    "comm.mode": "LAZY"}
        records = [{"kind": "start", "settings": settings}]
        for i in range(1, 6):
            records.append({"kind": "train", "step": i, "epoch": i / 5,
                            "loss": None if i == 3 else 3 / i,
                            "lr": 0.1, "images_per_s": rate, "data_wait": 0.01, "comm_ms": 4.0})
        records.append({"kind": "validation", "step": 3, "epoch": 0.6, "top1": 0.25,
                        "elapsed_s": 40.0 / ranks})
        records.append({"kind": "start", "settings": settings, "elapsed_s": 0.5})  # resumed
        records.append({"kind": "validation", "step": 5, "epoch": 1.0, "top1": 0.5 + 0.1 * ranks,
                        "top5": 0.9, "loss": 1.5, "elapsed_s": 6.0})
        records.append({"kind": "auto", "step": 4, "chosen": "SPARSE 0.05", "rungs": [
            {"rung": "LAZY FP32", "buckets": 37, "bytes": 4000000, "arithmetic_ms": 0.0,
             "exposed_ms": 812.25, "step_ms": 1100.0, "tried_ms": 1234.56,
             "verdict": "exposes <i>"},
            {"rung": "TOPK 0.01", "verdict": "needs SGD"}, 7]})
        records.append({"kind": "end", "step": 5, "elapsed_s": 7.0, "reason": "training has ended"})
        f.write("".join(json.dumps(r) + "\n" for r in records))
        f.write('{"kind": "tra')  # the run was killed while writing
    events = [{"ph": "X", "name": "fc8 </script>", "cat": lane, "ts": ts, "dur": 500.0, "pid": 0,
               "args": {"step": 7}} for lane, ts in (("backward", 0.0), ("bucket transfer", 300.0))]
    with open(os.path.join(folder, "timeline.json"), "w") as f:
        json.dump({"traceEvents": events}, f)
PY

"$gfreport" "$out/one" "$out/<b>two" --out="$out/report.html" >"$out/said.txt" || fail "gfreport"
grep -q ': 2 runs$' "$out/said.txt" || fail "it does not say what it made"
grep -q '<h2>Time to accuracy</h2>.*<td class="number">60.00</td>' "$out/report.html" ||
  fail "no time to the accuracy that both runs reach"

# Time to accuracy: all starts count, and the cost follows the time.
"$gfreport" "$out/one" "$out/<b>two" --out="$out/costs.html" --target=50% --price_per_hour=36 \
  >"$out/costs.txt" || fail "costs"
diff - <(head -n 3 "$out/costs.txt") <<'TABLE' || fail "the table of costs"
run     top-1, %  epoch  time, s  cost
one     50.00     1.00   46.0     0.46
<b>two  50.00     1.00   26.0     0.26
TABLE
"$gfreport" "$out/one" --out="$out/costs.html" --target=0.61 >"$out/costs.txt" ||
  fail "a high target"
grep -q '^one  61.00     not reached$' "$out/costs.txt" || fail "a target that is not reached"
for wrong in --target=93 --target=x --target=0 --price_per_hour=-1 --price_per_hour=nan; do
  "$gfreport" "$out/one" --out="$out/costs.html" "$wrong" 2>"$out/wrong.txt"
  [ $? = 2 ] && grep -q "^gfreport: $wrong: expected a" "$out/wrong.txt" || fail "$wrong"
done
python3 - "$out/report.html" <<'PY' || fail "the page"
import html
import html.parser
import json
import re
import sys
page = open(sys.argv[1], encoding="utf-8").read()
loads = r'(src|href)\s*=|url\(|@import|<script[^>]|fetch\('
assert not re.search(loads, page), "the page loads something"
assert "prefers-color-scheme: dark" in page, "no dark mode"
assert "<b>two" not in page and "&lt;b&gt;two" in page, "names are not escaped"
assert "one: comm.mode AUTO has taken SPARSE 0.05" in page, "no choice of AUTO"
for cell in ("37", "4000000", "812.2", "1100.0", "1234.6", "exposes &lt;i&gt;", "needs SGD"):
    assert re.search("<td[^>]*>%s</td>" % cell, page), cell
figures = re.findall(r"<figure>.*?</figure>", page, re.S)
titles = [re.search("<figcaption>(.*?)</figcaption>", f).group(1) for f in figures]
for title in ("Training loss", "Top-1 of the validations", "Throughput", "Learning rate",
              "Top-5 of the validations", "Loss of the validations", "one: a step over time",
              "Where the time of a step goes (means)", "Scaling", "one: rank 0, step 7"):
    assert title in titles, (title, titles)
axes = {"Training loss": ("epoch", "loss"), "Top-1 of the validations": ("epoch", "top-1, %"),
        "Throughput": ("epoch", "images/s"), "Scaling": ("ranks", "images/s"),
        "Where the time of a step goes (means)": ("run", "ms per step"),
        "one: rank 0, step 7": ("ms from the start",),
        "one: a step over time": ("epoch", "ms per step")}
# What a pointer shows, and axes from 0.
loss = figures[titles.index("Training loss")]
curves = json.loads(html.unescape(re.search('data-points="([^"]*)"', loss).group(1)))
assert [name for name, _, _ in curves] == ["one", "<b>two"], curves
assert curves[0][2][0][2] == "epoch 0.2: 3" and curves[0][2][-1][2] == "epoch 1: 0.6", curves
assert curves[0][2][0][0] > curves[0][2][0][1] > 0 and ">0</text>" in loss, curves
over_time = figures[titles.index("one: a step over time")]
parts = json.loads(html.unescape(re.search('data-points="([^"]*)"', over_time).group(1)))
assert [(name, points[0][2]) for name, _, points in parts] == [
    ("compute and update", "epoch 0.4: 312.8"), ("exposed communication", "epoch 0.4: 4"),
    ("data wait", "epoch 0.4: 3.2")], parts
assert "<td class=\"number\">90.00</td><td class=\"number\">1.5</td>" in page, "no top-5, no loss"
for title, figure in zip(titles, figures):
    assert 'class="legend"' in figure, title
    for name in axes.get(title, ()):
        assert ">%s</text>" % name in figure, (title, name)

class Balance(html.parser.HTMLParser):
    open_tags = []
    def handle_starttag(self, tag, attrs):
        if tag not in ("meta",):
            self.open_tags.append(tag)
    def handle_startendtag(self, tag, attrs):
        pass
    def handle_endtag(self, tag):
        assert self.open_tags.pop() == tag, tag
parser = Balance()
parser.feed(page)
assert not parser.open_tags, parser.open_tags
assert "nan" not in page.lower().replace("nanos", ""), "a number is not finite"
PY

refused() { # PATTERN ARGUMENTS...
  local pattern=$1
  shift
  "$gfreport" "$@" >"$out/refused.txt" 2>&1
  [ $? = 2 ] || fail "not exit code 2: $*"
  grep -q -- "$pattern" "$out/refused.txt" || fail "no \"$pattern\": $*"
  grep -q Traceback "$out/refused.txt" && fail "a stack trace: $*"
}
mkdir -p "$out/empty"
printf '{"kind":"start"\n{"kind":"end"}\n' >"$out/bad.jsonl"
printf '[1]\n{"kind":"end"}\n' >"$out/list.jsonl"
printf '{"other":1}\n' >"$out/other.jsonl"
head -c 300 /dev/urandom >"$out/noise.jsonl"
refused 'gfreport RUN'
refused 'No such file' "$out/nowhere"
refused 'has no .jsonl file; a job writes one with gftrain --run_dir=FOLDER' "$out/empty"
mkdir -p "$out/outer/log" && cp "$out/one/telemetry.jsonl" "$out/outer/log/log.jsonl"
refused "did you mean $out/outer/log?" "$out/outer"
# Numbers and nesting that no run writes.
start='{"kind":"start","settings":{"ranks":"1"}}'
hostile() { # PATTERN LINE: as a log's second line
  printf '%s\n%s\n%s\n' "$start" "$2" '{"kind":"end"}' >"$out/hostile.jsonl"
  refused "hostile.jsonl:2: $1" "$out/hostile.jsonl"
}
hostile 'loss is out of range' '{"kind":"train","epoch":1,"loss":1e308}'
hostile 'loss is out of range' '{"kind":"train","epoch":1,"loss":-1e300}'
hostile 'epoch is out of range' '{"kind":"train","epoch":1'"$(printf '0%.0s' {1..400})"',"loss":1}'
hostile 'not a JSON object' '{"kind":"train","epoch":1'"$(printf '0%.0s' {1..5000})"',"loss":1}'
hostile 'not a JSON object: nested too deeply' "$(printf '[%.0s' {1..100000})"
printf '{"traceEvents":[\n%s\n' "$(printf '[%.0s' {1..100000})" >"$out/deep.json"
refused 'deep.json:2: not a timeline: nested too deeply' --timeline="$out/deep.json"
for value in 1e308 -1e300 1e999 1"$(printf '0%.0s' {1..400})" '"x"'; do
  echo '{"traceEvents":[{"ph":"X","ts":'"$value"',"dur":1,"pid":0,"cat":"a","name":"b"}]}' \
    >"$out/far.json"
  refused 'far.json: not a timeline (event 1: ts is ' --timeline="$out/far.json"
done
printf '{"traceEvents":[]}' >"$out/none.json"
refused 'none.json: the timeline has no spans' --timeline="$out/none.json"
# Extremes that are numbers are drawn.
{
  echo "$start"
  for value in 1e100 -1e100 1e-320 0; do
    echo '{"kind":"train","epoch":'$value',"loss":'$value',"lr":'$value'}'
  done
} >"$out/extreme.jsonl"
"$gfreport" "$out/extreme.jsonl" --out="$out/extreme.html" >"$out/said.txt" || fail "extremes"
header=ranks,ranks_total,images_per_s,speedup,layer_times
printf '%s\n1e-320,1,1e-320,1,x\n1e100,2,1e100,1,x\n' $header >"$out/extreme.csv"
"$gfreport" "$out/extreme.csv" --out="$out/extreme.html" >"$out/said.txt" || fail "extremes"
grep -qi '[" ]nan\|infinity' "$out/extreme.html" && fail "a number is not finite"

# A timeline alone is shown as what it is.
"$gfreport" --timeline="$out/one/timeline.json" --out="$out/alone.html" >"$out/said.txt" ||
  fail "a timeline alone"
grep -q ': 1 timeline$' "$out/said.txt" || fail "it does not say what it made"
grep -q '<figcaption>timeline: rank 0, step 7<' "$out/alone.html" || fail "a measured timeline"
sed 's/^{/{"otherData":{"simulated":true,"layer_times":"profile"},/' "$out/one/timeline.json" \
  >"$out/simulated.json"
simulated='<figcaption>simulated: a simulated step, rank 0 (layer times: profile)<'
"$gfreport" --timeline="$out/simulated.json" --out="$out/alone.html" >"$out/said.txt" ||
  fail "a simulated timeline"
grep -q "$simulated" "$out/alone.html" || fail "it is not said to be simulated"
"$gfreport" "$out/one" --timeline="$out/simulated.json" --out="$out/with.html" >"$out/said.txt" ||
  fail "a simulated timeline beside a run"
grep -q "$simulated" "$out/with.html" || fail "it is not said to be simulated"
grep -q '<figcaption>one: rank 0, step 7<' "$out/with.html" || fail "the run's timeline is lost"
refused 'bad.jsonl:1: not a JSON object' "$out/bad.jsonl"
refused 'list.jsonl:1: expected a JSON object' "$out/list.jsonl"
refused 'holds no record of a run' "$out/other.jsonl"
refused 'noise.jsonl' "$out/noise.jsonl"
refused 'unknown or empty option --ouf' "$out/one" --ouf=x
mkfifo "$out/pipe.jsonl"
refused 'pipe.jsonl: not a regular file' "$out/pipe.jsonl"
refused 'cannot be written' "$out/one" --out=/nowhere/x.html
# A page is written all or not at all; links and devices are written directly.
"$gfreport" "$out/one" --out=/dev/stdout | grep '</html>' >/dev/null || fail "--out=/dev/stdout"
touch "$out/target.html" && ln -s target.html "$out/link.html"
"$gfreport" "$out/one" --out="$out/link.html" >"$out/said.txt" || fail "--out of a link"
grep -q '</html>' "$out/target.html" || fail "a link is replaced, not followed"
(
  trap '' XFSZ
  ulimit -f 1
  echo old >"$out/limited.html"
  "$gfreport" "$out/one" --out="$out/limited.html" >"$out/limited.pipe" 2>&1
  [ $? = 2 ] || fail "no exit code 2 where a page does not fit"
) || exit 1
[ "$(cat "$out/limited.html")" = old ] || fail "a page that cannot be written replaces an old one"
[ -z "$(find "$out" -name '*.tmp')" ] || fail "a temporary file stays"
# Sweeps: tables that are none, are cut off or hold no numbers.
header=ranks,ranks_total,images_per_s,speedup,layer_times
printf '%s\n1,1,10,1,x\n2,2,19,1.9,x\n' $header >"$out/sweep.csv"
"$gfreport" "$out/sweep.csv" "$out/one" --out="$out/both.html" >"$out/said.txt" || fail "a sweep"
grep -q ': 1 run, 1 sweep$' "$out/said.txt" || fail "it does not say what it made"
printf 'a,b\n1,2\n' >"$out/other.csv"
printf '%s\n1,1,10\n' $header >"$out/cut.csv"
printf '%s\n1,1,-3,1,x\n' $header >"$out/negative.csv"
printf '%s\n' $header >"$out/empty.csv"
refused 'other.csv:1: not the table of a sweep' "$out/other.csv"
refused 'cut.csv:2: got 3 values, expected 5' "$out/cut.csv"
refused 'negative.csv:2: images_per_s is -3, must be a number greater than 0, at most 1e100' \
  "$out/negative.csv"
refused 'empty.csv: the table has no rows' "$out/empty.csv"
refused 'noise.jsonl' "$out/noise.jsonl" --svg="$out/x.svg"
refused 'draws one sweep' "$out/one" --svg="$out/x.svg"
refused 'is one of the inputs' "$out/sweep.csv" --out="$out/sweep.csv"
refused 'goes with --svg' "$out/sweep.csv" --title=x
refused 'goes with a run or stands alone' "$out/sweep.csv" --timeline="$out/one/timeline.json"

# Pictures for documentation.
printf '{"kind":"validation","epoch":1,"top1":0.5}\n{"kind":"validation","epoch":2,"top1":0.7}\n' \
  >"$out/seed1.jsonl"
cp "$out/seed1.jsonl" "$out/seed2.jsonl"
tools/gfbench/plot_accuracy "$out/accuracy.svg" "SGD=$out/seed1.jsonl,$out/seed2.jsonl" ||
  fail "plot_accuracy"
echo '{"forward_ms":10,"backward_ms":25,"step_ms":50}' >"$out/step.json"
tools/gfbench/plot_steps "$out/steps.svg" --peer DDP=120 "LAZY=$out/step.json" || fail "plot_steps"
python3 - "$out" <<'PY' || fail "the pictures"
import sys
import xml.etree.ElementTree as xml
svg = "{http://www.w3.org/2000/svg}"
curves = [p for p in xml.parse(sys.argv[1] + "/accuracy.svg").iter(svg + "path")
          if p.get("class") == "curve"]
assert len(curves) == 2 and len({c.get("stroke") for c in curves}) == 1, curves
steps = xml.parse(sys.argv[1] + "/steps.svg")
words = [text.text for text in steps.iter(svg + "text")]
assert "120 ms" in words and "50 ms" in words, words
widths = [float(r.get("width")) for r in steps.iter(svg + "rect") if r.get("height") == "18"]
assert abs(sum(widths[:4]) / sum(widths[4:]) - 120 / 50) < 0.02, widths
PY
refused 'not a timeline' "$out/one" --timeline="$out/other.jsonl"
echo PASS
