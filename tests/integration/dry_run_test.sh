#!/usr/bin/env bash
# A dry run plans nets that no memory holds, and takes little memory itself.
. tests/integration/lib.sh
make_job
resnet=$root/models/resnet50.prototxt

# planned NAME ARGUMENTS...: a dry run of activations that take terabytes never holds 2 GiB.
planned() {
  local name=$1
  shift
  python3 - "$name.log" "$gftrain" --dry_run "$@" <<'PY' || fail "$name"
import resource, subprocess, sys
with open(sys.argv[1], "w") as log:
    code = subprocess.call(sys.argv[2:], stdout=log, stderr=subprocess.STDOUT)
assert code == 0, "exit code %d" % code
peak_kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
assert peak_kib < 2 << 20, "it held %d KiB" % peak_kib
PY
  grep -Eq '^ *activations +[0-9.]+ [TP]B \([0-9.]+ [TP]B without reuse\)' "$name.log" ||
    fail "$name: $(grep activations "$name.log")"
  grep -q 'warning: activations, parameters and solver take .*B, but this' "$name.log" ||
    fail "$name: no warning"
}

planned net --net="$resnet" --batch_size=1000000
grep -q '1000000x64x112x112' net.log || fail "no shapes"
grep -q '25,557,032 in 161 tensors' net.log || fail "no parameters"
grep -q '^  LAZY: [0-9]* buckets' net.log || fail "no buckets"
planned test --net="$resnet" --batch_size=1000000 --phase=TEST
grep -q '^ *gradients *none' test.log || fail "gradients in the phase TEST"

# The phase TEST of the job is planned beside the phase TRAIN.
large=(--set net="$resnet" --set train_data.crop_size=224 --set validation_data.crop_size=224
  --set train_data.random_crop=false)
planned job --config=job.prototxt "${large[@]}" --set train_data.batch_size=1000000 \
  --set validation_data.batch_size=1000000
# Without crop_size the data tell the size of images: no batch of them is read.
small=(--set train_data.crop_size=0 --set train_data.random_crop=false --set input.channels=3
  --set validation_data.crop_size=0 --set train_data.batch_size=16000000
  --set train_data.prefetch=1024)
"$gftrain" --dry_run --config=job.prototxt "${small[@]}" >small.log 2>&1 ||
  fail "size from the data"
grep -q '16000000x3x32x32' small.log || fail "not the data's size"

# Training refuses what does not fit.
expect_error 'batch_size: 16,000,000 images take .*but this process can have' "$gftrain" \
  --config=job.prototxt "${small[@]}" --set checkpoint.dir=

# What fits has no warning; steps ahead need weights of their own.
"$gftrain" --dry_run --config=job.prototxt >one.log 2>&1 || fail "a small net"
grep -q 'this process can have' one.log && fail "a small net: $(grep warning one.log)"
grep -q '^ *compute weights *the master weights' one.log || fail "compute weights of LAZY"
"$mpirun" -np 2 "$gftrain" --dry_run --config=job.prototxt --set comm.mode=SPARSE \
  --set comm.sparse.chunk_size=500 >ahead.log 2>&1 || fail "SPARSE"
master=$(sed -n 's/^ *master weights *//p' ahead.log)
[ "$(sed -n 's/^ *compute weights *//p' ahead.log)" = "$master" ] && [ -n "$master" ] ||
  fail "compute weights of SPARSE: $(grep weights ahead.log)"

# The solver's state is as large as the weights, or twice as large.
solver() { # ARGUMENTS...: the memory of the solver
  "$gftrain" --dry_run --config=job.prototxt "$@" 2>&1 | sed -n 's/^ *solver state *//p'
}
[ "$(solver)" = "$master" ] || fail "the state of SGD: $(solver)"
adam=$(solver --set solver.type=Adam)
[ -n "$adam" ] && [ "$adam" != "$master" ] || fail "the state of Adam: $adam"
grep -q '^ *solver state *none$' test.log || fail "a solver in the phase TEST"
grep -q '^ *solver state *unknown without --config$' net.log || fail "a solver without a job"

# An average is as large as the weights.
grep -q '^ *average weights *none' one.log || fail "an average without solver.average"
"$gftrain" --dry_run --config=job.prototxt --set solver.average.decay=0.9 >average.log 2>&1 ||
  fail "an average"
[ "$(sed -n 's/^ *average weights *//p' average.log)" = "$master" ] ||
  fail "average weights: $(grep weights average.log)"

# Layers keep weights of their own without a backward pass.
grep -q '^ *transformed weights *none$' net.log || fail "transformed weights in the phase TRAIN"
if grep -qw avx2 /proc/cpuinfo; then
  grep -q '^ *transformed weights *[0-9.]* MB$' test.log || fail "transformed weights"
fi

# Frozen weights are counted, too.
grep -q '^ *frozen weights *none$' one.log || fail "frozen weights without freeze"
"$gftrain" --dry_run --config=job.prototxt --set 'freeze=ip1.weight' >frozen.log 2>&1 ||
  fail "a frozen layer"
grep -q '^ *frozen weights *[0-9.]* kB$' frozen.log || fail "$(grep frozen frozen.log)"
echo PASS
