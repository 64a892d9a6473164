#!/bin/bash
# gfbench gives its figures in the form that tools/gfbench/versus reads, and refuses what it does
# not know.
set -uo pipefail
gfbench=tools/gfbench/gfbench
net=--net=models/lenet.prototxt
out=${TEST_TMPDIR:-/tmp}
export OMP_WAIT_POLICY=passive

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

"$gfbench" $net --batch=8 --steps=3 --layers --limit --json="$out/default.json" \
  >"$out/default.txt" ||
  fail "gfbench"
"$gfbench" step $net --batch=8 --steps=1 --warmup=0 --forward_only --json="$out/step.json" \
  >"$out/step.txt" || fail "gfbench step"
"$gfbench" step $net --batch=2 --steps=1 --warmup=0 --forward_only --compute=BF16 \
  >"$out/bf16.txt" 2>&1 || grep -q 'BF16 is not supported here' "$out/bf16.txt" ||
  fail "BF16: $(cat "$out/bf16.txt")"

python3 - "$out" <<'PY' || fail "the figures"
import json
import re
import sys
for name, forward_only in (("default", False), ("step", True)):
    with open("%s/%s.json" % (sys.argv[1], name)) as f:
        result = json.load(f)
    with open("%s/%s.txt" % (sys.argv[1], name)) as f:
        text = f.read()
    rate = float(re.search(r"^([0-9.]+) images/s, peak memory ", text, re.M).group(1))
    assert abs(rate - result["images_per_s"]) < 0.01, (rate, result)
    assert abs(result["images_per_s"] * result["step_ms"] / 1e3 - 8) < 1e-6, result
    assert 0 < result["forward_ms"] <= result["step_ms"] * (1 + 1e-9), result
    assert (result["backward_ms"] == 0) == forward_only, result
    assert result["first_step_s"] > 0 and result["peak_bytes"] > 1e6, result
    assert bool(result["layers"]) == (not forward_only), result
    for layer in result["layers"]:
        assert layer["by"] or layer["type"] not in ("Convolution", "InnerProduct"), layer
    # Of an image: convolutions 0.576 and 3.2, inner products 0.8 and 0.01 MFLOP; the first one's
    # bottom has no gradient.
    flops = 4.586e6 if forward_only else 3 * 4.586e6 - 0.576e6
    assert abs(result["flops_per_s"] / result["images_per_s"] / flops - 1) < 1e-3, result
    assert (result["product_flops_per_s"] > 0) == (not forward_only), result
    assert ("that a product of matrices reaches" in text) == (not forward_only), text
PY

compute=BF16
if { "$gfbench" update $net --compute=BF16 --steps=1 2>&1 || true; } |
  grep -q 'not supported here'; then
  echo "NOT TESTED: updates in BF16, in which this processor does not compute"
  compute=FP32
fi
for solver in SGD LARS LARC LAMB Adam AdamW AdaGrad RMSProp AdaDelta Muon; do
  "$gfbench" update $net --solver=$solver --compute=$compute --steps=3 --json="$out/update.json" \
    >"$out/update.txt" || fail "gfbench update --solver=$solver"
  python3 - "$out/update.json" $solver $compute <<'PY' || fail "the figures of gfbench update"
import json
import sys
with open(sys.argv[1]) as f:
    result = json.load(f)
adaptive = {"Adam": 28, "AdamW": 28, "AdaGrad": 20, "RMSProp": 20, "AdaDelta": 28,
            "Muon": 36}
bytes_each = {"BF16": {"SGD": 20, "LARS": 26, "LARC": 26, "LAMB": 40, **adaptive},
              "FP32": {"SGD": 20, "LARS": 28, "LARC": 28, "LAMB": 40, **adaptive},
              }[sys.argv[3]][sys.argv[2]]
assert result["bytes"] == bytes_each * result["parameters"] > 0, result
assert result["update_ms"] > 0 and result["copy_ms"] > 0 and result["ratio"] > 0, result
PY
done

"$gfbench" depthwise --batch=1 --steps=1 --warmup=0 --kernel=5 --json="$out/depthwise.json" \
  >"$out/depthwise.txt" || fail "gfbench depthwise"
python3 - "$out/depthwise.json" <<'PY' || fail "the figures of gfbench depthwise"
import json
import sys
with open(sys.argv[1]) as f:
    result = json.load(f)
assert [shape["channels"] for shape in result["shapes"]] == [32, 64, 128, 128, 256, 256, 512, 512,
                                                             1024], result
assert result["copy_bytes_per_s"] > 0, result
for shape in result["shapes"]:
    out = (shape["side"] - 1) // shape["stride"] + 1
    seconds = (shape["own_forward_ms"] + shape["own_backward_ms"]) / 1e3
    # Three passes of 25 taps, and of the bottom and the top.
    flops = 3 * 2 * 25 * shape["channels"] * out ** 2
    assert abs(shape["flops_per_s"] * seconds / flops - 1) < 1e-6, shape
    moved = 3 * 4 * shape["channels"] * (shape["side"] ** 2 + out ** 2)
    assert abs(shape["bytes_per_s"] * seconds / moved - 1) < 1e-6, shape
    assert shape["own"] == "own depthwise loops" != shape["library"], shape
    assert min(shape["library_forward_ms"], shape["library_backward_ms"]) > 0, shape
PY

mkdir -p "$out/folder/class"
python3 - "$out/folder/class/a.png" <<'PY'
import struct
import sys
import zlib
side = 300
rows = b"".join(b"\0" + bytes((x * y) % 251 for x in range(side)) for y in range(side))
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
with open(sys.argv[1], "wb") as f:
    header = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
PY
for task in resized_crop crop cache evaluate; do
  "$gfbench" data --data="$out/folder" --task=$task --steps=2 --json="$out/data.json" \
    >"$out/data.txt" || fail "gfbench data --task=$task"
  python3 - "$out/data.json" $task <<'PY' || fail "the figures of gfbench data"
import json
import sys
with open(sys.argv[1]) as f:
    result = json.load(f)
assert result["images_per_s"] > 0 and result["threads"] == 1, result
assert ("copy_share" in result) == (sys.argv[2] == "cache"), result
PY
done

refused() { # PATTERN ARGUMENTS...
  local pattern=$1
  shift
  "$gfbench" "$@" >"$out/refused.txt" 2>&1
  [ $? = 2 ] || fail "not exit code 2: $*"
  grep -q -- "$pattern" "$out/refused.txt" || fail "no \"$pattern\": $*"
}
refused 'gfbench \[step\] --net=FILE'
refused 'unknown command "stop" (known: .*step' stop
refused 'did you mean --steps' --step=3
refused '--steps is 0, must be at least 1' $net --steps=0
refused '--warmup is -1, must be at least 0' $net --warmup=-1
refused '--batch is 0, must be at least 1' $net --batch=0
refused '--net is missing' step --batch=3
refused 'unknown --solver "ADAM"; did you mean "Adam"?' update $net --solver=ADAM
refused 'unknown --solver "Newton" (known: AdaDelta, .*, RMSProp, SGD)' update $net --solver=Newton
refused 'unknown flag --profile_out' update $net --profile_out="$out/profile.prototxt"
refused '--kernel is 4, must be odd' depthwise --kernel=4
refused '--multiplier is 0, must be 1 to 16' depthwise --multiplier=0
refused 'expected resized_crop' data --data="$out/folder" --task=paint
refused 'comm.sparse.density is 3, must be at most 1' train $net --comm='sparse { density: 3 }'
refused '--data is missing' data --steps=1
refused "--json=$out: this is a folder" $net --steps=1 --warmup=0 --json="$out"
refused '--json=/nowhere/x.json: /nowhere is not a folder' $net --steps=1 --warmup=0 \
  --json=/nowhere/x.json
refused '--algorithms: unknown algorithm "bogus" (known: auto, .*native' allreduce \
  --algorithms=ring,bogus
refused '--profile_out=/nowhere/p: /nowhere is not a folder' $net --profile_out=/nowhere/p
refused '--profile_out=/nowhere/p: /nowhere is not a folder' train $net --profile_out=/nowhere/p
# Every rank makes a mistake of the flags; one says so.
for mistake in 'allreduce --rounds=0' "train $net --comm=mode:LAZZY" "arena $net --rounds=0" \
  "arena $net --round=2" 'allreduce --factor=x' 'allreduce --algorithms=ring,bogus'; do
  # shellcheck disable=SC2086 # words
  bazel/mpirun.sh -n 3 "$gfbench" $mistake >"$out/refused.txt" 2>&1
  [ $? = 2 ] || fail "not exit code 2 on three ranks: $mistake"
  [ "$(grep -c 'gfbench: error: ' "$out/refused.txt")" = 1 ] || fail "not told once: $mistake"
done
bazel/mpirun.sh -n 1 "$gfbench" train $net --steps=3 : -n 1 "$gfbench" train $net --steps=4 \
  >"$out/refused.txt" 2>&1
[ $? = 2 ] || fail "not exit code 2 where flags differ between ranks"
grep -q 'ranks disagree.*--steps' "$out/refused.txt" || fail "flags that differ are not named"
# A rank that only asks for help does not leave the others waiting.
timeout 60 bazel/mpirun.sh -n 1 "$gfbench" allreduce --help : -n 1 "$gfbench" allreduce \
  --rounds=1 >"$out/refused.txt" 2>&1
[ $? = 2 ] || fail "not exit code 2 where one rank asks for help"
grep -q 'ranks disagree on their flags: rank 0 asks for --help' "$out/refused.txt" ||
  fail "the rank that asks for help is not named: $(cat "$out/refused.txt")"
timeout 60 bazel/mpirun.sh -n 2 "$gfbench" allreduce --help >"$out/help.txt" 2>&1 ||
  fail "allreduce --help on two ranks"
for command in allreduce arena data depthwise step train update; do
  "$gfbench" --help | grep -q "^  $command  *[a-z]" || fail "--help does not list $command"
  "$gfbench" $command --help >"$out/help.txt" || fail "$command --help"
  grep -q "^  .*gfbench .*$command" "$out/help.txt" || fail "$command --help does not show its use"
  grep -q '^  --json=FILE' "$out/help.txt" || fail "$command --help does not show --json"
done
echo PASS
