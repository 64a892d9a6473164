#!/usr/bin/env bash
# gfbench step --cost says what steps of two networks cost, as reckoned in step_cost_test.py, fits a
# terminal, and refuses what it cannot price.
set -uo pipefail
gfbench=tools/gfbench/gfbench
out=${TEST_TMPDIR:-/tmp}

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

for compute in FP16 BF16; do
  for job in 'resnet50 256' 'alexnet_bn 128'; do
    read -r net batch <<<"$job"
    "$gfbench" step --net="models/$net.prototxt" --batch="$batch" --compute=$compute --cost \
      --gpu=h200 --layers --json="$out/cost.json" >"$out/cost.txt" || fail "--cost of $net"
    python3 tests/tools/step_cost_test.py "$net" "$batch" "$compute" "$out/cost.json" ||
      fail "cost of $net"
    grep -q 'An estimate; nothing ran' "$out/cost.txt" || fail "does not say that it is an estimate"
    grep -q '^batch norm gradient sums  *[0-9]' "$out/cost.txt" || fail "no kinds of operations"
    [ "$(wc -L <"$out/cost.txt")" -le 100 ] || fail "lines of more than 100 columns"
  done
done

unfused() { # NET COMPUTE: counts the lines that match the third argument
  "$gfbench" step --net="models/$1.prototxt" --batch=8 --compute="$2" --cost --gpu=h200 \
    >"$out/unfused.txt" || fail "--cost of $1"
  grep -c "^Not fused: .*$3" "$out/unfused.txt"
}
[ "$(unfused resnet50 FP16 '')" = 0 ] || fail "unfused in resnet50: $(cat "$out/unfused.txt")"
[ "$(unfused resnet50 BF16 'do not add them up in BF16')" = 1 ] || fail "no reason in BF16"
[ "$(unfused alexnet BF16 '')" = 0 ] || fail "unfused without batch norms"
[ "$(unfused alexnet_bn FP16 'no convolution: bn1, bn2, bn5')" = 1 ] || fail "after poolings"
[ "$(unfused alexnet_bn FP16 'has a ReLU: bn3, bn4')" = 1 ] || fail "after ReLUs"

# Layers by themselves move more bytes, in more launches.
total() { # COLUMN FILE
  awk -v column="$1" '$1 == "total" { print int($column); exit }' "$2"
}
for flags in --fuse --nofuse; do
  "$gfbench" --net=models/resnet50.prototxt --batch=256 --compute=FP16 --cost --gpu=h200 $flags \
    >"$out/cost$flags.txt" || fail "$flags"
done
[ "$(total 2 "$out/cost--fuse.txt")" = 330 ] || fail "launches of fused layers"
[ "$(total 2 "$out/cost--nofuse.txt")" -gt 500 ] || fail "launches without fusion"
[ "$(total 3 "$out/cost--fuse.txt")" = 77 ] || fail "bytes of fused layers"
[ "$(total 3 "$out/cost--nofuse.txt")" -gt 120 ] || fail "bytes without fusion"
grep -q '^resnet50, batch 256, FP16, not fused, SGD' "$out/cost--nofuse.txt" || fail "no heading"

net=--net=models/resnet50.prototxt
"$gfbench" $net --cost --gpu=t4 --batch=1024 --compute=FP16 >"$out/t4.txt" || fail "a small GPU"
grep -q 'It does not fit: the GPU has 16.0 GB' "$out/t4.txt" ||
  fail "does not say what is too large"
"$gfbench" $net --cost --gpu=t4 --batch=8 --solver=LAMB --forward_only >"$out/t4.txt" ||
  fail "--forward_only"
grep -q -e 'It does not fit' -e '^update' "$out/t4.txt" && fail "what --forward_only does not do"

refused() { # PATTERN ARGUMENTS...
  local pattern=$1
  shift
  "$gfbench" "$@" >"$out/refused.txt" 2>&1
  [ $? = 2 ] || fail "not exit code 2: $*"
  grep -q -- "$pattern" "$out/refused.txt" || fail "no \"$pattern\": $*"
}
refused 'unknown --gpu "h300" (known: a100, b200, h100, h200, l40s, t4)' $net --cost --gpu=h300
refused '--cost needs --gpu' $net --cost
refused '--gpu goes with --cost' --net=models/lenet.prototxt --steps=1 --gpu=h200
refused 'BF16 is not supported here (NVIDIA T4, on paper)' $net --cost --gpu=t4 --compute=BF16
refused 'leave out --limit' $net --cost --gpu=h200 --limit
refused 'leave out --limit' $net --cost --gpu=h200 --profile_out=x
types='AdaDelta, AdaGrad, Adam, AdamW, LAMB, LARC, LARS, Muon, RMSProp or SGD'
refused "solver.type is \"ADAM\", must be $types; did you mean \"Adam\"?" \
  $net --cost --gpu=h200 --solver=ADAM
refused "must be $types" --net=models/lenet.prototxt --solver=ADAM
refused '--net is missing' --cost --gpu=h200
refused '--json=/nowhere/x.json: /nowhere is not a folder' $net --cost --gpu=h200 \
  --json=/nowhere/x.json
echo PASS
