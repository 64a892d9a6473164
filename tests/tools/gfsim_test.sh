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
"$gfsim" $config $cluster --sweep='ranks=1..64 mode=LAZY,SPARSE' --csv="$out/sweep.csv" ||
  fail "--sweep"
tools/gfreport/gfreport "$out/sweep.csv" --svg="$out/sweep.svg" --title="a < b" ||
  fail "gfreport of a sweep"
tools/gfreport/gfreport "$out/sweep.csv" --out="$out/sweep.html" || fail "gfreport of a sweep"
"$gfsim" $config $cluster --ranks=64 --steps=1 --suggest >"$out/suggest.txt" || fail "--suggest"
grep -q -- '--set comm.threshold_first=' "$out/suggest.txt" || fail "--suggest suggests nothing"

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
for word in ("a < b", "ranks (devices)", "images/s", "mode LAZY", "mode SPARSE",
             "ideal (linear)", "64"):
    assert word in words, (word, words)
dots = [c for c in picture.iter(svg + "circle")]
assert len(dots) == len(rows), (len(dots), len(rows))
# Logarithms on both axes: 64 ranks lie at the right end, and above 1 rank.
at = [(float(c.get("cx")), float(c.get("cy"))) for c in dots]
assert at[6][0] == max(x for x, _ in at) and at[6][1] < at[0][1] - 150, at
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
train_data { source: "none" batch_size: 8 }
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
"$gfsim" $lenet $clouds --gpu=h200 --sweep=ranks=1,2 --csv="$out/estimate.csv" ||
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
refused 'not a range of numbers' $config $cluster --sweep=ranks=0..4
refused 'not a number of ranks' $config $cluster --sweep=ranks=0
refused 'run gfreport FILE --svg=x.svg' $config $cluster --svg=x.svg
refused 'goes with --sweep' $config $cluster --csv=x
refused 'cannot write /nowhere/x.json' $config $cluster --timeline=/nowhere/x.json
refused 'comm.sparse.density is 2' $config $cluster --set comm.sparse.density=2
refused 'comm.algorithm is "rink", must be auto, .* or torus; did you mean "ring"?' \
  $config $cluster --set comm.algorithm=rink
echo PASS
