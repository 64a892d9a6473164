# What the integration tests have in common. To be sourced; every test runs in its own folder.
set -uo pipefail

root=$PWD
gftrain=$root/tools/gftrain
gfeval=$root/tools/gfeval
gfdata=$root/tools/gfdata/gfdata
mpirun=$root/bazel/mpirun.sh
work=$(mktemp -d "${TEST_TMPDIR:-/tmp}/integration.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# Threads that wait do not spin: tests share the machine.
export OMP_WAIT_POLICY=passive

fail() {
  echo "FAIL: $*" >&2
  for log in "$work"/*.log; do
    [ -f "$log" ] && echo "--- $log" >&2 && tail -n 25 "$log" >&2
  done
  exit 1
}

# on_ranks N COMMAND...: under mpirun, or directly for one rank.
on_ranks() {
  local ranks=$1
  shift
  if [ "$ranks" = 1 ]; then
    "$@"
  else
    "$mpirun" -np "$ranks" "$@"
  fi
}

# "${two_ranks[@]}" "OPTIONS OF RANK 0" "OPTIONS OF RANK 1" COMMAND...
# Not two programs in one mpirun (A : B), with which Open MPI 5.0.7 crashes.
two_ranks=("$mpirun" -np 2 sh -c
  'if [ "$OMPI_COMM_WORLD_RANK" = 0 ]; then own=$0; else own=$1; fi; shift && exec "$@" $own')

# A data set of 10 classes, and a job with all that has a state: momentum, batch norm, dropout,
# shuffling, augmentation.
make_job() {
  "$gfdata" draw --out=data --images=300 --size=32 --seed=7 --force >draw.log 2>&1 ||
    fail "gfdata draw"
  cat >net.prototxt <<'NET'
name: "small"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: [1, 3, 28, 28] } } }
layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 1 } } }
layer {
  name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  convolution_param { num_output: 16 kernel_size: 3 stride: 2 bias_term: false
                      weight_filler { type: "msra" } }
}
layer { name: "bn1" type: "BatchNorm" bottom: "conv1" top: "conv1"
        batch_norm_param { moving_average_fraction: 0.9 } }
layer { name: "scale1" type: "Scale" bottom: "conv1" top: "conv1"
        scale_param { bias_term: true filler { value: 1 } } }
layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
layer { name: "ip1" type: "InnerProduct" bottom: "conv1" top: "ip1"
        inner_product_param { num_output: 32 weight_filler { type: "xavier" } } }
layer { name: "relu2" type: "ReLU" bottom: "ip1" top: "ip1" }
layer { name: "drop" type: "Dropout" bottom: "ip1" top: "ip1" }
layer { name: "ip2" type: "InnerProduct" bottom: "ip1" top: "ip2"
        inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip2" bottom: "label" top: "loss" }
NET
  cat >job.prototxt <<JOB
name: "small"
device: "${GF_TEST_DEVICE:-cpu}"
net: "net.prototxt"
train_data {
  source: "data/train-*.tar" batch_size: 10 crop_size: 28 random_crop: true mirror: true
  mean: 128 std: 64
}
validation_data { source: "data/val-*.tar" batch_size: 16 crop_size: 28 mean: 128 std: 64 }
solver { base_lr: 0.02 lr_policy: COSINE max_steps: 300 warmup_steps: 20 weight_decay: 0.0005 }
checkpoint { dir: "run" interval_epochs: 0 interval_steps: 100 keep: 2 }
telemetry { display_interval: 50 jsonl: "log.jsonl" }
JOB
}

# batches_for SECONDS TRAIN...: how many batches of 20 images a step of SECONDS takes. TRAIN runs
# the job on two ranks with the options that follow it. The speed of a machine that is shared
# changes: leave room.
batches_for() {
  local seconds=$1 speed
  shift
  ("$@" --set checkpoint.dir= --set solver.iter_size=100 --max_steps=4) >speed.log 2>&1 ||
    fail "measuring the speed"
  speed=$(sed -n 's!.*step 4/.*  \([0-9.]*\) images/s.*!\1!p' speed.log)
  [ -n "$speed" ] || fail "no speed"
  awk -v speed="$speed" -v seconds="$seconds" 'BEGIN { printf "%d", seconds * speed / 20 + 1 }'
}

# kill_job PID: kill -9 for a process of ours and all below it.
kill_job() {
  [ "$1" -gt 1 ] || return
  local pids=$1 below=$1
  while [ -n "$below" ]; do
    below=$(for pid in $below; do pgrep -P "$pid"; done)
    pids="$pids $below"
  done
  kill -9 $pids 2>/dev/null
  wait "$1" 2>/dev/null
}

# same_weights A B: bit by bit, the optimizer's pools and residuals too.
same_weights() {
  local file
  [ "$(cd "$1" && ls)" = "$(cd "$2" && ls)" ] || fail "$1 and $2 have different files"
  for file in "$1"/*.safetensors; do
    cmp "$file" "$2/${file##*/}" || fail "$file and $2/${file##*/} differ"
  done
}

# Rates at which no ReLU dies in some hundred steps: the gradients of a dead one are zeros, and so
# are its residuals.
low_rate=(--set solver.base_lr=0.0005) low_lars_rate=(--set solver.base_lr=0.1)

# keeps_residuals FOLDER RANKS: a checkpoint's residuals are more than zeros, so that comparing them
# says something.
keeps_residuals() {
  local rank file bytes
  for rank in $(seq 0 $(($2 - 1))); do
    file=$1/residual-0000$rank.safetensors
    bytes=$(tr -d '\0' <"$file" | wc -c)
    # A fifth of the bytes of 87,354 residuals.
    [ "$bytes" -gt 70000 ] || fail "$file: only $bytes bytes are not zero"
  done
}

# expect_error PATTERN COMMAND...: exit code 2, one message, and it matches the pattern.
expect_error() {
  local pattern=$1 code
  shift
  timeout 120 "$@" >out.log 2>err.log
  code=$?
  [ $code = 2 ] || fail "exit code $code instead of 2: $*"
  grep -E -q -- "$pattern" err.log || fail "no \"$pattern\" in the message of: $*"
  [ "$(grep -c '^gf[a-z]*: error' err.log)" = 1 ] || fail "not exactly one message: $*"
  grep -E -q 'Check failed|terminate called|Aborted|\*\*\*.*@|stack trace' err.log &&
    fail "looks like a crash: $*"
  return 0
}
