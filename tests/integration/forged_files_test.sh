#!/usr/bin/env bash
# Files that were made to mislead: states of training with right checksums, weights that are no
# numbers, nets without end. Each gives one clear message and exit code 2, at once.
. tests/integration/lib.sh
forge=$root/tests/integration/forge_state
make_job
train=("$gftrain" --config=job.prototxt --set solver.max_steps=2 --set solver.warmup_steps=0)
"${train[@]}" --set checkpoint.dir=good >good.log 2>&1 || fail "a good run"

# forged KEY VALUE PATTERN: training and evaluation refuse a checkpoint of this state.
forged() {
  rm -rf forged
  cp -r good forged
  "$forge" forged/step-00000002/state.json "$1" "$2" || fail "forge_state $1 $2"
  expect_error "state.json: $3" "${train[@]}" --set checkpoint.dir= --resume=forged/step-00000002
  expect_error "state.json: $3" "$gfeval" --config=job.prototxt --checkpoint=forged/step-00000002
}
forged position 9223372036854775807 'position is 9223372036854775807, expected a whole number from'
forged position 4611686018427387904 'position is 4611686018427387904, expected'
forged position 1 'position is 1, expected 2 or more'
forged step 4611686018427387904 'step is 4611686018427387904, expected'
forged step 1 'updates is 2, expected a whole number from 0 to 1'
forged updates 9223372036854775807 'updates is 9223372036854775807, expected a whole .* 0 to 2'
forged world -1 'world is -1, expected'
forged threads -1 'threads is -1, expected'
forged epoch 1e308 'epoch is 1e\+308, expected'
forged epoch -1 'epoch is -1, expected'
forged exchange 3 'exchange is 3, expected a text'
forged loss_scale -1 'loss_scale is -1, expected'
forged clean_steps 18446744073709551615 'clean_steps is 18446744073709551615, expected'
forged seed -1 'seed is -1, expected'
mv forged/step-00000002 forged/step-00000003
cp -r good/step-00000002/. forged/step-00000003
expect_error 'state.json: step is 2, expected 3, the number in the folder' \
  "${train[@]}" --set checkpoint.dir= --resume=forged/step-00000003
# The same file, signed anew without a change, is a good one.
cp -r good again
"$forge" again/step-00000002/state.json position 20 || fail "forge_state"
"${train[@]}" --set checkpoint.dir= --resume=again/step-00000002 --set solver.max_steps=4 \
  >again.log 2>&1 || fail "an unchanged state that was signed anew"
grep -q 'resuming from again/step-00000002, step 2' again.log || fail "no resuming"
# The largest position that can be: where such a run stands is found at once.
cp -r good far
"$forge" far/step-00000002/state.json position 999999999999900 || fail "forge_state"
"$forge" far/step-00000002/state.json epoch 3333333333333 || fail "forge_state"
timeout 60 "${train[@]}" --set checkpoint.dir= --resume=far/step-00000002 \
  --set solver.max_steps=4 >far.log 2>&1 || fail "a large position"
# A folder of checkpoints stands for its newest one; a text for the terminal is no command to it.
"$gfeval" --config=job.prototxt --checkpoint=good >eval.log 2>&1 || fail "gfeval --checkpoint=good"
"$forge" again/step-00000002/state.json solver '"\u001b[31mSGD"' || fail "forge_state"
expect_error 'was written by solver \?\[31mSGD' \
  "${train[@]}" --set checkpoint.dir= --resume=again/step-00000002

# Weights.
python3 - <<'PY'
import json, struct
data = bytearray(open("good/step-00000002/weights.safetensors", "rb").read())
length = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + length])
def forged(name, tensor, value):
    copy = bytearray(data)
    at = 8 + length + header[tensor]["data_offsets"][0] + 4
    copy[at:at + 4] = struct.pack("<f", value)
    open(name, "wb").write(copy)
forged("nan.safetensors", "ip1.weight", float("nan"))
forged("variance.safetensors", "bn1.running_var", -1.0)
open("x.pth", "wb").write(b"PK\x03\x04" + bytes(60))
PY
weights_error() { # weights_error FILE PATTERN: training and evaluation refuse these weights
  expect_error "$1: $2" "${train[@]}" --set checkpoint.dir= --weights="$1"
  expect_error "$1: $2" "$gfeval" --config=job.prototxt --weights="$1"
}
weights_error nan.safetensors 'ip1.weight\[1\] is -?nan, expected a finite number'
weights_error variance.safetensors 'bn1.running_var\[1\] is -1, expected a variance'
weights_error net.prototxt 'is a text file, expected weights: safetensors or x.caffemodel'
weights_error x.pth 'is a file of torch.save, expected safetensors: convert it'
grep -q 'safetensors.torch.save_file(.*, "x.safetensors")' err.log || fail "no lines of Python"

# Nets.
sed 's/num_output: 32/num_output: 4294967295/' net.prototxt >huge.prototxt
expect_error 'huge.prototxt:[0-9]+:[0-9]+: layer "ip1" \(InnerProduct\): its weight' \
  "${train[@]}" --set net=huge.prototxt
expect_error 'layer "ip1" \(InnerProduct\): its weight' "$gftrain" --dry_run --net=huge.prototxt
mkfifo net.fifo
expect_error 'net.fifo: not a regular file' "$gftrain" --dry_run --net=net.fifo

# A dry run refuses what training would refuse.
expect_error 'solver.rule\[0\].pattern: "none\*"' "$gftrain" --config=job.prototxt --dry_run \
  --set 'solver.rule[0].pattern=none*' --set 'solver.rule[0].lr_mult=0'
expect_error 'init\[0\].pattern: "fc.weight"' "$gftrain" --config=job.prototxt --dry_run \
  --set 'init[0].pattern=fc.weight' --set 'init[0].filler.type=constant'
expect_error 'solver.warmup_steps.*400' "$gftrain" --config=job.prototxt --dry_run \
  --set solver.warmup_steps=400
"$gftrain" --config=job.prototxt --dry_run >dry.log 2>&1 || fail "a good dry run"

# Doubles that become numbers of steps.
for setting in solver.max_epochs=1e308 solver.warmup_epochs=1e308 'solver.epoch_value=1e308' \
  comm.timeout_s=1e308 solver.max_steps=9223372036854775807; do
  expect_error "${setting%=*}.* must be at most" "$gftrain" --config=job.prototxt --set "$setting"
done

# The job changes the net: other images, other classes.
sed 's/dim: \[1, 3, 28, 28\]/dim: [1, 3, 99, 99]/; s/num_output: 10/num_output: 1000/' \
  net.prototxt >other.prototxt
expect_error 'takes images of 3x99x99 but is given 3x28x28; .* input \{ \} in the job' \
  "${train[@]}" --set checkpoint.dir= --set net=other.prototxt
changed=(--set net=other.prototxt --set input.channels=3 --set classes=10)
"${train[@]}" --set checkpoint.dir=other "${changed[@]}" >other.log 2>&1 || fail "input and classes"
for file in weights optimizer; do
  cmp good/step-00000002/$file.safetensors other/step-00000002/$file.safetensors ||
    fail "a net that the job has changed trains otherwise than one that was written so"
done
"$gfeval" --config=job.prototxt --set checkpoint.dir=other "${changed[@]}" >eval.log 2>&1 ||
  fail "gfeval of a changed net"
"$gftrain" --config=job.prototxt --dry_run "${changed[@]}" >dry.log 2>&1 ||
  fail "a dry run of a changed net"
grep -q 'ip2 .*10x10' dry.log || fail "the dry run's classes: $(grep ip2 dry.log)"

# One run at a time has a run's folder.
mkdir shared
flock shared/.lock sleep 60 &
other=$!
until [ -e shared/.lock ]; do sleep 0.1; done
expect_error 'telemetry.run_dir: another run is using shared: wait until it has ended' \
  "${train[@]}" --set checkpoint.dir= --run_dir=shared --set telemetry.jsonl=shared/log.jsonl
[ -e shared/config.prototxt ] && fail "the config of a run that was refused"
kill_job "$other"
"${train[@]}" --set checkpoint.dir= --run_dir=shared --set telemetry.jsonl=shared/log.jsonl \
  >shared.log 2>&1 || fail "a folder that is free"

# Ranks of which one asks for help.
expect_error 'ranks disagree on their flags: rank 0 asks for --help' \
  "${two_ranks[@]}" --help '' "${train[@]}"
echo PASS
