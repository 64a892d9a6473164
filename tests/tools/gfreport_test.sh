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
            records.append({"kind": "train", "step": i, "epoch": i / 5, "loss": None if i == 3 else 3 / i,
                            "lr": 0.1, "images_per_s": rate, "data_wait": 0.01, "comm_ms": 4.0})
        records.append({"kind": "validation", "step": 5, "epoch": 1.0, "top1": 0.5, "top5": 0.9})
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
python3 - "$out/report.html" <<'PY' || fail "the page"
import html.parser
import re
import sys
page = open(sys.argv[1], encoding="utf-8").read()
assert not re.search(r'(src|href)\s*=|url\(|@import|<script', page), "the page loads something"
assert "<b>two" not in page and "&lt;b&gt;two" in page, "names are not escaped"
figures = re.findall(r"<figure>.*?</figure>", page, re.S)
titles = [re.search("<figcaption>(.*?)</figcaption>", f).group(1) for f in figures]
for title in ("Training loss", "Top-1 of the validations", "Throughput", "Learning rate",
              "Where the time of a step goes (means)", "Scaling", "one: rank 0, step 7"):
    assert title in titles, (title, titles)
axes = {"Training loss": ("epoch", "loss"), "Top-1 of the validations": ("epoch", "top-1, %"),
        "Throughput": ("epoch", "images/s"), "Scaling": ("ranks", "images/s"),
        "Where the time of a step goes (means)": ("run", "ms per step"),
        "one: rank 0, step 7": ("ms from the start",)}
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
refused 'has no .jsonl file' "$out/empty"
refused 'bad.jsonl:1: not a JSON object' "$out/bad.jsonl"
refused 'list.jsonl:1: expected a JSON object' "$out/list.jsonl"
refused 'holds no record of a run' "$out/other.jsonl"
refused 'noise.jsonl' "$out/noise.jsonl"
refused 'unknown or empty option --ouf' "$out/one" --ouf=x
refused 'cannot be written' "$out/one" --out=/nowhere/x.html
refused 'not a timeline' "$out/one" --timeline="$out/other.jsonl"
echo PASS
