#!/usr/bin/env bash
# gfsim prints what a job comes to, writes sweeps, pictures and timelines, and refuses mistakes.
set -uo pipefail
gfsim=tools/gfsim/gfsim
gfbench=tools/gfbench/gfbench
out=${TEST_TMPDIR:-/tmp}
config=--config=tests/simulate/paper_alexnet.prototxt
cluster=--cluster=configs/clusters/paper_v.prototxt
export OMP_WAIT_POLICY=passive

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

"$gfsim" $config $cluster --timeline="$out/timeline.json" >"$out/run.txt" || fail "gfsim"
for word in forward backward 'exposed communication' update data images/s speed-up efficiency \
  training warm-up validation 'busiest network card'; do
  grep -q -- "$word" "$out/run.txt" || fail "no $word"
done
"$gfsim" $config $cluster >"$out/again.txt" || fail "gfsim again"
cmp -s "$out/run.txt" "$out/again.txt" || fail "not the same result twice"
"$gfsim" $config $cluster --sweep='ranks=1..64 mode=LAZY,SPARSE' --csv="$out/sweep.csv" \
  >"$out/sweep.txt" || fail "--sweep"
grep -qE '^  mode  *ranks  *step ms .* training$' "$out/sweep.txt" || fail "--sweep has no table"
[ "$(grep -cE '^  (LAZY|SPARSE) ' "$out/sweep.txt")" = 14 ] || fail "the table has other rows"
"$gfsim" $config $cluster --sweep='ranks=1..64 mode=LAZY,SPARSE' --csv=- >"$out/stdout.csv" ||
  fail "--csv=-"
cmp -s "$out/sweep.csv" "$out/stdout.csv" || fail "--csv=- writes something else"
"$gfsim" $config $cluster --ranks=64 --price_per_hour=10 --csv="$out/three.csv" \
  --sweep='theta=64K,1M mode=LAZY,SPARSE nic=25gbit,100gbit' >"$out/three.txt" || fail "three axes"
tools/gfreport/gfreport "$out/three.csv" --out="$out/three.html" || fail "three axes' page"
grep -q 'mode LAZY, nic 25gbit' "$out/three.html" || fail "no curve per combination"
"$gfsim" $config $cluster --ranks=64 --sweep='theta=64K,1M,4M,16M,64M mode=LAZY,SPARSE' \
  --csv="$out/theta.csv" >/dev/null || fail "--sweep=theta"
tools/gfreport/gfreport "$out/theta.csv" --svg="$out/theta.svg" || fail "gfreport of theta"
grep -qE '^  100gbit  *SPARSE  *1 MiB .* [0-9.]+$' "$out/three.txt" || fail "no 1 MiB"
grep -q ' cost$' "$out/three.txt" || fail "no cost"
"$gfsim" $config $cluster --price_per_hour=24.5 >"$out/price.txt" || fail "--price_per_hour"
grep -qE 'cost of the training  *[0-9.]+, 64 nodes at 24.5 per hour' "$out/price.txt" ||
  fail "no cost"
tools/gfreport/gfreport "$out/sweep.csv" --svg="$out/sweep.svg" --title="a < b" ||
  fail "gfreport of a sweep"
tools/gfreport/gfreport "$out/sweep.csv" --out="$out/sweep.html" || fail "gfreport of a sweep"
"$gfsim" $config $cluster --ranks=64 --steps=1 --suggest >"$out/suggest.txt" || fail "--suggest"
grep -q -- '--set comm.threshold_first=' "$out/suggest.txt" || fail "--suggest suggests nothing"
# The first line is the config as it is.
awk '/ ms / { if (!own) own = $1; else { n++; if ($1 >= own) exit 1 } } END { exit n < 2 }' \
  "$out/suggest.txt" || fail "--suggest lists what is not better"
"$gfsim" $config $cluster --ranks=1 --steps=1 --suggest >"$out/suggest1.txt" || fail "--suggest"
grep -q 'Nothing that was tried' "$out/suggest1.txt" || fail "one rank has nothing to gain"
"$gfsim" --help >"$out/help.txt" || fail "--help"
grep -q 'theta, threshold  *bytes of gradients' "$out/help.txt" || fail "--help has no theta"

# Phases on images of other sizes.
"$gfsim" --config=configs/resnet50_16ep.prototxt $cluster --gpu=h200 --ranks=64 \
  >"$out/phases.txt" || fail "a job with phases"
grep -qE '^  step of the first phase  *[0-9.]+ ms  100.0 %$' "$out/phases.txt" ||
  fail "no first step"
grep -qE '^ *from step 1  *32,768 images of 160x160, [0-9.]+ ms$' "$out/phases.txt" &&
  grep -qE '^ *from step 471  *32,768 images of 192x192, [0-9.]+ ms$' "$out/phases.txt" ||
  fail "no phases: $(cat "$out/phases.txt")"

# A rate that the cluster's file lacks is guessed, and said to be.
"$gfsim" $config $cluster --set compute_type=FP16 >/dev/null 2>"$out/guess.txt" || fail "FP16"
grep -q 'warning: configs/clusters/paper_v.prototxt:34:3: no rate of alexnet_bn for FP16' \
  "$out/guess.txt" || fail "no warning"
"$gfsim" $config $cluster --set compute_type=FP16 --sweep=ranks=1..8 >/dev/null 2>"$out/guess.txt"
[ "$(wc -l <"$out/guess.txt")" = 1 ] || fail "not one warning per guess"
"$gfsim" $config $cluster >/dev/null 2>"$out/guess.txt" || fail "BF16"
[ -s "$out/guess.txt" ] && fail "a warning without a guess"
"$gfsim" $config $cluster --set train_data.images=0 >/dev/null 2>"$out/guess.txt" ||
  fail "no number of images"
grep -q 'warning: neither --train_images nor train_data.images says.*ImageNet (1,281,167)' \
  "$out/guess.txt" || fail "no warning of the number of images"

# A setting that gfsim does not simulate is named.
"$gfsim" $config $cluster --ranks=64 --steps=2 --sweep='nic=25gbit,100gbit base_lr=0.1,0.2' \
  >/dev/null 2>"$out/effect.txt" || fail "a sweep without effect"
[ "$(cat "$out/effect.txt")" = \
  'gfsim: warning: --sweep: base_lr changes neither times nor traffic here: leave it out' ] ||
  fail "the warning: $(cat "$out/effect.txt")"

# A density at which TOPK sends everything: one warning, of the first such combination.
"$gfsim" $config $cluster --steps=2 --set comm.mode=TOPK --set solver.type=SGD \
  --set compute_type=BF16 --sweep='topk.density=0.01 ranks=64,128,256' >"$out/topk.txt" \
  2>"$out/topk_warning.txt" || fail "TOPK"
[ "$(grep -c 'warning: TOPK equals LAZY' "$out/topk_warning.txt")" = 1 ] &&
  grep -q 'at comm.topk.density 0.01 on 128 ranks.*set comm.topk.density to 0.0039 or less' \
    "$out/topk_warning.txt" || fail "TOPK's warning: $(cat "$out/topk_warning.txt")"

# A combination that cannot be trained keeps its row, without figures, and its reason.
"$gfsim" $config $cluster --ranks=64 --steps=2 --sweep='sparse.density=0.1,2 nic=25gbit,100gbit' \
  --csv="$out/refused.csv" >"$out/refused.txt" 2>"$out/reasons.txt" || fail "refused combinations"
[ "$(grep -cE '^  (25|100)gbit  +2( +-){5}$' "$out/refused.txt")" = 2 ] || fail "other rows"
[ "$(wc -l <"$out/refused.csv")" = 3 ] || fail "the file holds other rows"
grep -qxF 'gfsim: warning: --sweep: 2 of 4 combinations have no figures: nic=25gbit'\
' sparse.density=2 is refused: comm.sparse.density is 2, must be at most 1' "$out/reasons.txt" ||
  fail "no reason"

python3 - "$out" <<'PY' || fail "the files"
import csv
import json
import sys
import xml.etree.ElementTree as xml
out = sys.argv[1]
rows = list(csv.DictReader(open(out + "/sweep.csv")))
assert [r["ranks"] for r in rows[:7]] == ["1", "2", "4", "8", "16", "32", "64"], rows
assert [r["mode"] for r in rows] == ["LAZY"] * 7 + ["SPARSE"] * 7
for r in rows:
    parts = sum(float(r[k + "_s"]) for k in ("forward", "backward", "exposed", "update", "data"))
    assert abs(parts - float(r["step_s"])) < 1e-6 * parts, r
    assert abs(float(r["images_per_s"]) * float(r["step_s"]) / 128 - int(r["ranks"])) < 1e-3, r
svg = "{http://www.w3.org/2000/svg}"
picture = xml.parse(out + "/sweep.svg")
words = [text.text for text in picture.iter(svg + "text")]
for word in ("a < b", "ranks (devices)", "efficiency, %", "mode LAZY", "mode SPARSE", "64", "100"):
    assert word in words, (word, words)
page = open(out + "/sweep.html").read()
assert ">images/s</text>" in page and "ideal (linear)" in page and ">efficiency, %</text>" in page
dots = [c for c in picture.iter(svg + "circle")]
assert len(dots) == len(rows), (len(dots), len(rows))
# 64 ranks lie at the right end, and are less efficient than 1 rank.
at = [(float(c.get("cx")), float(c.get("cy"))) for c in dots]
assert at[6][0] == max(x for x, _ in at) and at[6][1] > at[0][1] + 50, at
# The legend is beside the curves, and nothing is cut.
width = float(picture.getroot().get("viewBox").split()[2])
legend = [t for t in picture.iter(svg + "text") if t.text.startswith("mode ")]
assert all(float(t.get("x")) > max(x for x, _ in at) for t in legend), legend
for t in picture.iter(svg + "text"):
    half = {"middle": 4, "start": 8, "end": 0}[t.get("text-anchor")] * len(t.text)
    assert t.get("transform") or float(t.get("x")) + half <= width + 1, (t.text, t.get("x"))
# The best of a sweep over something else is marked; bytes are powers of two.
best = xml.parse(out + "/theta.svg")
words = [text.text for text in best.iter(svg + "text")]
rows = list(csv.DictReader(open(out + "/theta.csv")))
top = max(rows, key=lambda row: float(row["images_per_s"]))
name = "%d %s" % ((int(top["theta"]) >> 10, "KiB") if int(top["theta"]) < 1 << 20
                  else (int(top["theta"]) >> 20, "MiB"))
assert "best: " + name in words, (name, words)
assert {"64 KiB", "1 MiB", "16 MiB"} <= set(words), words
assert [c.get("class") for c in best.iter(svg + "circle")].count("best") == 1
assert all("mode SPARSE" in page for page in [open(out + "/sweep.html").read()])
events = json.load(open(out + "/timeline.json"))["traceEvents"]
assert {e["pid"] for e in events} == set(range(8))
assert {"forward", "backward", "bucket transfer", "update"} <= {e.get("cat") for e in events}
PY

# What gfbench measures is a profile. (The net's images are of one size only: its own.)
net=models/lenet.prototxt
"$gfbench" --net=$net --batch=8 --steps=2 --profile_out="$out/profile.prototxt" >"$out/bench.txt" ||
  fail "gfbench --profile_out"
cat >"$out/lenet.prototxt" <<EOF
net: "$PWD/$net"
train_data { batch_size: 8 }  # the images are not opened, so no source is needed
solver { base_lr: 1 max_steps: 10 }
EOF
"$gfsim" --config="$out/lenet.prototxt" --cluster=configs/clusters/cloud_10gbe.prototxt --ranks=4 \
  --profile="$out/profile.prototxt" >"$out/lenet.txt" || fail "a measured profile"

# Layers' times may be estimated for a GPU, and are those of gfbench step --cost.
"$gfbench" --net=$net --batch=8 --compute=FP16 --cost --gpu=h200 --layers --json="$out/cost.json" \
  >"$out/cost.txt" || fail "gfbench --cost"
lenet="--config=$out/lenet.prototxt --set compute_type=FP16"
sed 's/jitter: [0-9.]*/jitter: 0/' configs/clusters/cloud_10gbe.prototxt >"$out/steady.prototxt"
clouds=--cluster=$out/steady.prototxt
"$gfsim" $lenet $clouds --ranks=1 --gpu=h200 --timeline="$out/estimate.json" \
  >"$out/estimate.txt" || fail "--gpu"
grep -q 'times of layers  *estimate for h200' "$out/estimate.txt" || fail "--gpu is no estimate"
"$gfsim" $lenet $clouds --gpu=h200 --sweep=ranks=1,2 --csv="$out/estimate.csv" >/dev/null ||
  fail "--gpu --sweep"
tools/gfreport/gfreport "$out/estimate.csv" --svg="$out/estimate.svg" || fail "gfreport"
grep -q 'simulated, layer times: estimate for h200' "$out/estimate.svg" ||
  fail "the picture's title"
"$gfsim" $lenet $clouds --ranks=2 --steps=1 --gpu=h200 --suggest >"$out/suggest.txt" ||
  fail "--gpu --suggest"
grep -q 'times of layers: estimate for h200' "$out/suggest.txt" || fail "--suggest is no estimate"
python3 - "$out" <<'PY' || fail "the estimate"
import csv
import json
import sys
out = sys.argv[1]
layers = json.load(open(out + "/cost.json"))["layers"]
row = next(csv.DictReader(open(out + "/estimate.csv")))
assert row["layer_times"] == "estimate for h200", row
for way in "forward", "backward":
    expected = sum(layer[way]["assumed_ms"] for layer in layers) * 1e-3
    assert abs(float(row[way + "_s"]) / expected - 1) < 1e-6, (way, row, expected)
other = json.load(open(out + "/estimate.json"))["otherData"]
assert other["layer_times"] == "estimate for h200", other
PY

# Measured and simulated steps stand side by side.
PATH=$PWD/tools/gfbench:$PWD/tools/gfsim:$PATH tools/gfsim/compare_steps --net=$net --ranks=2 \
  --launch="bazel/mpirun.sh -n 2" --batch=2 --steps=2 \
  --rounds=1 --out="$out/compared" 'mode: LAZY' 'mode: SPARSE sparse { chunk_size: 1000 }' \
  >"$out/compared.txt" || fail "compare_steps"
[ "$(grep -c -E '^mode: .* ms .* ms .*%' "$out/compared.txt")" = 2 ] || fail "compare_steps prints"
grep -qE '^mode: SPARSE .* [0-9]+\.[0-9] at [0-9]+\.[0-9] GB/s$' "$out/compared.txt" ||
  fail "no arithmetic of SPARSE"
grep -q 'GB/s$' <(grep '^mode: LAZY' "$out/compared.txt") && fail "LAZY has no arithmetic"
grep -q 'compressor_gb_s' "$out/compared/compared.prototxt" || fail "arithmetic is not simulated"
grep -qE '^median of the differences: [0-9.]+ %$' "$out/compared.txt" || fail "no median"

# A simulated step without a run is a page of its own.
tools/gfreport/gfreport --timeline="$out/timeline.json" --out="$out/step.html" ||
  fail "gfreport of a simulated step"
grep -q 'timeline: a simulated step, rank 0 (layer times: estimated from FLOPs and bytes)' \
  "$out/step.html" || fail "the page does not say that it is simulated"

# A run's log and its simulation.
mkdir -p "$out/run"
cp "$out/lenet.prototxt" "$out/run/config.prototxt"
{
  echo '{"kind":"start","settings":{"ranks":"4 on 1 host","images per step":"32"}}'
  for rate in 10 1000 2000 4000; do
    echo '{"kind":"train","images_per_s":'$rate',"data_wait":0.25,"comm_ms":2}'
  done
} >"$out/run/log.jsonl"
cloud=--cluster=configs/clusters/cloud_10gbe.prototxt
for what in "$out/run" "$out/run/log.jsonl"; do
  "$gfsim" --compare="$what" $cloud --profile="$out/profile.prototxt" >"$out/compare.txt" ||
    fail "--compare"
  grep -qE '^  step  *16.00 ms  *[0-9.]+ ms  *[+-][0-9.]+ %$' "$out/compare.txt" || fail "no step"
  grep -qE 'exposed communication  *2.00 ms  *[0-9.]+ ms' "$out/compare.txt" || fail "no exposed"
  grep -q 'medians of 3 progress lines, 4 ranks' "$out/compare.txt" || fail "no source"
done

refused() { # PATTERN ARGUMENTS...
  local pattern=$1
  shift
  "$gfsim" "$@" >"$out/refused.txt" 2>&1
  [ $? = 2 ] || fail "not exit code 2: $*"
  grep -q -- "$pattern" "$out/refused.txt" || fail "no \"$pattern\": $*"
}
printf 'node {\n  devices: -1\n}\n' >"$out/bad.prototxt"
refused 'gfsim --config=FILE'
refused 'config is missing' $cluster
refused 'cluster is missing' $config
refused 'bad.prototxt:2:3: node.devices is -1, must be at least 1' $config \
  --cluster="$out/bad.prototxt"
refused 'unknown --gpu "h300" (known: a100, b200, h100, h200, l40s, t4)' $config $cluster --gpu=h300
refused 'replaces --profile' $config $cluster --gpu=h200 --profile="$out/profile.prototxt"
refused 'BF16 is not supported here (NVIDIA T4, on paper)' $config $cluster --gpu=t4 \
  --set compute_type=BF16
"$gfsim" $config $cluster --set comm.mode=LAZY --set comm.algorithm=auto \
  --set comm.threshold_auto=true --suggest >"$out/auto.txt" || fail "--suggest of threshold_auto"
grep -q -- '--set comm.threshold_auto=false' "$out/auto.txt" || fail "threshold_auto is suggested"
refused 'did you mean --ranks' $config $cluster --rank=3
refused 'ranks is -1' $config $cluster --ranks=-1
refused 'steps is 0' $config $cluster --steps=0
refused 'steps is 1000000000, must be from 1 to 10000' $config $cluster --steps=1000000000
refused 'price_per_hour is -1' $config $cluster --price_per_hour=-1
refused 'did you mean "density"' $config $cluster --sweep=densty=1
refused 'train_data.crop_size, validation_data.crop_size' $config $cluster --sweep=crop_size=9
refused 'must be at most 1' $config $cluster --sweep=sparse.density=2,3
refused 'write it with its unit' $config $cluster --sweep=nic=25,100
refused 'expected at most 4096' $config $cluster \
  --sweep='ranks=1..4096 theta=1..1G train_data.batch_size=1..4096'
refused 'gfreport --timeline=x.json' $config $cluster --timeline=x.html
refused 'only one of' $config $cluster --suggest --sweep=ranks=1
refused 'does not go with' $config $cluster --sweep=ranks=1 --timeline="$out/no.json"
refused 'the log has 32 images per step, but batch_size 9 on 4 ranks makes 36' $cloud \
  --compare="$out/run" --set train_data.batch_size=9
"$gfsim" --compare="$out/run" $cloud --set train_data.batch_size=2 --set solver.iter_size=4 \
  >"$out/compare.txt" 2>&1 || fail "--compare of several batches per step"
sed 's/^train_data {/& crop_size: 28 size_phase { epoch: 1 crop_size: 24 }/' "$out/lenet.prototxt" \
  >"$out/run/config.prototxt"
refused 'changes the size of its images' $cloud --compare="$out/run"
refused 'nowhere/log.jsonl' $cloud --compare="$out/nowhere/log.jsonl"
refused 'ranks=8: the run of --compare=.* had 4 ranks' $cloud --compare="$out/run" --ranks=8
refused 'sweep= has no value' $config $cluster --sweep=
refused 'ranks is given twice' $config $cluster --sweep='ranks=1,2 ranks=4'
refused 'theta and comm.threshold_first set the same field' $config $cluster \
  --sweep='theta=1K comm.threshold_first=2K'
refused 'mode and comm.mode set the same field' \
  $config $cluster --sweep='mode=LAZY comm.mode=SPARSE'
refused 'not a range of numbers' $config $cluster --sweep=ranks=0..4
refused 'not a number of ranks' $config $cluster --sweep=ranks=0
refused 'run gfreport FILE --svg=x.svg' $config $cluster --svg=x.svg
refused 'goes with --sweep' $config $cluster --csv=x
refused 'cannot write /nowhere/x.json' $config $cluster --timeline=/nowhere/x.json
refused 'comm.sparse.density is 2' $config $cluster --set comm.sparse.density=2
refused 'comm.algorithm is "rink", must be auto, .* or torus; did you mean "ring"?' \
  $config $cluster --set comm.algorithm=rink
echo PASS
