#!/usr/bin/env bash
# gfbench arena measures every method on the same steps, gfbench waits for a profile's times in
# place of computing, and mistakes are named.
set -uo pipefail
gfbench=tools/gfbench/gfbench
net=--net=models/lenet.prototxt
out=${TEST_TMPDIR:-/tmp}
export OMP_WAIT_POLICY=passive

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

bf16=yes
if { "$gfbench" $net --batch=1 --compute=BF16 --steps=1 2>&1 || true; } |
  grep -q 'not supported here'; then
  echo "NOT TESTED: BF16, in which this processor does not compute"
  bf16=
fi

# Default methods, in FP32 and in BF16, whose gradients cannot have error feedback.
bazel/mpirun.sh -n 2 "$gfbench" arena $net --batch=4 --rounds=2 --steps=2 --warmup=1 \
  --json="$out/arena.json" >"$out/arena.txt" || fail "gfbench arena"
if [ -n "$bf16" ]; then
  "$gfbench" arena $net --batch=4 --compute=BF16 --rounds=1 --steps=1 --json="$out/bf16.json" \
    >"$out/bf16.txt" || fail "gfbench arena --compute=BF16"
fi
python3 - "$out" "$bf16" <<'PY' || fail "the figures of gfbench arena"
import json
import sys
with open(sys.argv[1] + "/arena.json") as f:
    arena = json.load(f)
with open(sys.argv[1] + "/arena.txt") as f:
    text = f.read()
assert arena["ranks"] == 2 and arena["replay"] == "" and arena["updates"], arena
methods = {line["name"]: line for line in arena["methods"]}
expected = ["nothing", "LAZY FP32", "LAZY BF16", "FEEDBACK BF16", "SPARSE 0.15", "SPARSE 0.02",
            "TOPK 0.01", "TOPK 0.001", "LOW_RANK 1", "LOW_RANK 4", "QUANTIZED 8",
            "QUANTIZED 4 rotated", "PERIODIC 8"]
assert list(methods) == expected, list(methods)
if sys.argv[2]:
    with open(sys.argv[1] + "/bf16.json") as f:
        bf16 = json.load(f)
    assert [line["name"] for line in bf16["methods"]] == expected[:3] + expected[4:], bf16
for name, line in methods.items():
    assert "\n%-13s " % name in text, (name, text)
    assert line["step_ms"] > 0 and line["ratio"] > 0, line
    assert abs(line["images_per_s"] * line["step_ms"] / 1e3 - 8) < 1e-6, line
    assert (line["sent_bytes"] > 0) == (name != "nothing"), line
    assert abs(line["sent_bytes"] - line["wire_bytes"]) <= 1, line  # with two ranks
assert methods["nothing"]["ratio"] == 1 and methods["nothing"]["comm"] == "", methods
sent = {name: line["sent_bytes"] for name, line in methods.items()}
assert sent["LAZY FP32"] >= 4 * arena["parameters"], sent
assert sent["LAZY FP32"] == 2 * sent["LAZY BF16"] == 2 * sent["FEEDBACK BF16"], sent
assert sent["TOPK 0.001"] < sent["TOPK 0.01"] < sent["QUANTIZED 4 rotated"] < \
    sent["QUANTIZED 8"] < sent["LAZY BF16"], sent
# A step's share of the round's exchange.
assert abs(sent["PERIODIC 8"] - sent["LAZY BF16"] / 8) <= 1, sent
assert "bucket" in methods["LAZY BF16"]["exchange"], methods
PY

# AUTO chooses in its first turn and then stays with its choice.
bazel/mpirun.sh -n 2 "$gfbench" arena $net --batch=4 --rounds=2 --steps=2 --warmup=1 \
  --methods='LAZY BF16; SPARSE 0.15; AUTO' --json="$out/auto.json" >"$out/auto.txt" \
  2>"$out/remarks.txt" || fail "AUTO"
[ "$(grep -c 'method "AUTO" measures before it chooses' "$out/remarks.txt")" = 1 ] ||
  fail "no name before the table of AUTO"
[ "$(grep -c 'method "SPARSE 0.15": .* among only 1[0-9] chunks' "$out/remarks.txt")" = 1 ] ||
  fail "no warning of few chunks"
[ "$(grep -c 'comm.mode AUTO after step' "$out/auto.txt")" = 1 ] || fail "not one table of AUTO"
taken=$(sed -n 's/^comm.mode AUTO after step [0-9]*: //p' "$out/auto.txt")
grep -qE "^AUTO: ${taken//\*/\\*} +[0-9]" "$out/auto.txt" || fail "no line for AUTO"
grep -qF "\"taken\": \"$taken\"" "$out/auto.json" || fail "no choice in the figures"
bazel/mpirun.sh -n 2 "$gfbench" train $net --batch=4 --steps=1 --comm='mode: AUTO' \
  --json="$out/auto_train.json" >"$out/auto_train.txt" || fail "gfbench train with AUTO"
taken=$(sed -n 's/^comm.mode AUTO after step [0-9]*: //p' "$out/auto_train.txt")
grep -qF "\"taken\": \"$taken\"" "$out/auto_train.json" || fail "no choice in train's figures"
bazel/mpirun.sh -n 1 "$gfbench" arena $net --batch=4 --rounds=1 --steps=1 --warmup=1 \
  --methods=AUTO >"$out/alone.txt" || fail "AUTO alone"
grep -qE "^AUTO +[0-9]" "$out/alone.txt" || fail "no line for AUTO alone"

# Times by layer: conv2 40 ms forward; backward ip1 60 ms, conv1 20 ms with half of it forward.
cat >"$out/profile.prototxt" <<'END'
net: "LeNet"
batch: 8
step_ms: 150
layer { name: "conv1"  backward_ms: 20 }
layer { name: "conv2"  forward_ms: 40  backward_ms: 0 }
layer { name: "ip1"  forward_ms: 0  backward_ms: 60 }
layer { name: "ip2"  forward_ms: 0  backward_ms: 0 }
END
replay="--replay=$out/profile.prototxt"
"$gfbench" train $net --batch=8 --steps=2 "$replay" --json="$out/batch8.json" >/dev/null ||
  fail "--replay"
"$gfbench" train $net --batch=4 --steps=2 "$replay" --json="$out/batch4.json" >/dev/null ||
  fail "--replay with another batch"
"$gfbench" train $net --batch=8 --steps=2 "$replay" --replay_images_per_s=40 \
  --json="$out/rate.json" >/dev/null || fail "--replay_images_per_s"
bazel/mpirun.sh -n 2 "$gfbench" arena $net --batch=8 --rounds=1 --steps=2 "$replay" \
  --noreplay_update --json="$out/replay.json" --methods='TOPK 0.01; nothing; two words =
  mode: SPARSE sparse { density: 0.5 chunk_size: 1000 }' >"$out/replay.txt" ||
  fail "gfbench arena --replay"
python3 - "$out" <<'PY' || fail "the figures of --replay"
import json
import sys
def load(name):
    with open("%s/%s.json" % (sys.argv[1], name)) as f:
        return json.load(f)
for name, forward, backward in (("batch8", 50, 80), ("batch4", 25, 40), ("rate", 77, 123)):
    result = load(name)
    assert result["forward_ms"] >= forward - 0.1, (name, result)
    assert result["backward_ms"] >= backward - 0.1, (name, result)
    assert result["step_ms"] >= forward + backward, (name, result)
arena = load("replay")
assert arena["replay"].endswith("profile.prototxt") and not arena["updates"], arena
methods = arena["methods"]
assert [line["name"] for line in methods] == ["nothing", "TOPK 0.01", "two words"], methods
for line in methods:
    assert line["step_ms"] >= 130, line
assert 0 < methods[2]["sent_bytes"] < 4 * arena["parameters"], methods
PY
grep -q 'without updates; medians of 1 round of 2 steps' "$out/replay.txt" || fail "no heading"

# What was measured can be replayed.
"$gfbench" $net --batch=4 --steps=2 --profile_out="$out/measured.prototxt" >/dev/null ||
  fail "--profile_out"
"$gfbench" train $net --batch=4 --steps=1 --replay="$out/measured.prototxt" >/dev/null ||
  fail "a measured profile"

refused() { # PATTERN ARGUMENTS...
  local pattern=$1
  shift
  "$gfbench" "$@" >"$out/refused.txt" 2>&1
  [ $? = 2 ] || fail "not exit code 2: $*"
  grep -q -- "$pattern" "$out/refused.txt" || fail "no \"$pattern\": $*"
}
refused '--methods: "LAZZY" is unknown (known: nothing, LAZY FP32' arena $net --methods=LAZZY
refused '--methods: "= mode: LAZY" has no name; write "NAME = mode: LAZY"' arena $net \
  --methods='SPARSE 0.02; = mode: LAZY'
refused '--methods=; names no method (known: nothing, LAZY FP32' arena $net '--methods=;'
refused '--methods names "a" twice' arena $net --methods='a = mode: LAZY; a = mode: TOPK'
refused '--methods names "nothing" twice' arena $net --methods='nothing = mode: LAZY'
refused '--methods: "a".*no field "density"' arena $net --methods='a = density: 1'
refused '--methods: "a": comm.sparse.density is 3' arena $net \
  --methods='a = sparse { density: 3 }'
refused '--rounds is 0, must be at least 1' arena $net --rounds=0
refused '--device=cuda: gfbench times an exchange on processors only' arena $net --device=cuda
refused '--device=cuda: gfbench times an exchange on processors only' train $net --device=cuda
refused "--json=$out/nowhere/x.json: $out/nowhere is not a folder" train $net \
  --json="$out/nowhere/x.json"
refused '--peers: "= b" has no name; write "NAME = b"' arena $net --peers='= b'
refused '--peers: "a": expected NAME = COMMAND' arena $net --peers=a
refused '--peers needs a net that computes: leave out --replay' arena $net "$replay" --peers='a = b'
refused 'profile.prototxt: .*the net resnet18 has no layer "conv2"' arena "$replay" \
  --net=models/resnet18.prototxt
refused 'cannot open /nowhere/p.prototxt' train $net --replay=/nowhere/p.prototxt
echo 'batch: 3' >"$out/short.prototxt"
refused 'short.prototxt.*net' train $net --replay="$out/short.prototxt"
refused '--replay_images_per_s is -1, must be 0 to' train $net --replay_images_per_s=-1
refused '--replay_images_per_s goes with --replay' train $net --replay_images_per_s=3
refused '--noreplay_update goes with --replay' train $net --noreplay_update
refused '--profile_out needs a net that computes' train $net "$replay" --profile_out="$out/x"
refused '--compute=FP16: the device cpu does not have this type' train $net "$replay" \
  --compute=FP16
grep -v '"ip1"' "$out/profile.prototxt" >"$out/partial.prototxt"
refused 'partial.prototxt: it has no time of layer "ip1"' train $net \
  --replay="$out/partial.prototxt"
sed '/^layer/s/_ms: [0-9]*/_ms: 0/g' "$out/profile.prototxt" >"$out/zero.prototxt"
refused 'zero.prototxt: all times are 0' train $net --replay="$out/zero.prototxt" \
  --replay_images_per_s=10

if [ -n "$bf16" ]; then
  bazel/mpirun.sh -n 2 "$gfbench" arena $net --batch=4 --compute=BF16 --rounds=1 --steps=1 \
    --methods='FEEDBACK BF16' >"$out/refused.txt" 2>&1
  [ $? = 2 ] || fail "error feedback of BF16 is not refused"
  grep -q 'method "FEEDBACK BF16": .*expected FP32' "$out/refused.txt" || fail "no method's name"
fi

# A peer's process runs beside each rank.
rm -f "$out/peers.txt"
cat >"$out/peer.sh" <<'END'
echo "$RANK of $WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT" >>"$1"
echo '{"step_ms": 3} {"step_ms": 12.5}'
END
bazel/mpirun.sh -n 2 "$gfbench" arena $net --batch=4 --rounds=2 --steps=1 --methods=nothing \
  --peers="shell = bash $out/peer.sh $out/peers.txt" --json="$out/peer.json" >"$out/peer.txt" ||
  fail "--peers"
grep -qE '^shell +12.50 .* 640.00$' "$out/peer.txt" || fail "no peer in the table"
[ "$(grep -cE '^[01] of 2 at 127.0.0.1:[0-9]+$' "$out/peers.txt")" = 4 ] || fail "not four peers"
one='--rounds=1 --steps=1 --methods=nothing'
refused '"bad" printed nothing, expected the milliseconds' arena $net $one --peers='bad = true'
refused '"bad" ended with exit code 7: echo broken && exit 7' arena $net $one \
  --peers='bad = echo broken && exit 7'
grep -qx broken "$out/refused.txt" || fail "the peer's own words are lost"
echo PASS
