#!/usr/bin/env bash
# Training on GPUs has the losses that it has on the processor: in every mode, through NCCL and
# through the host, with one rank and with several, and across a restart on the other device.
. tests/integration/lib.sh
make_job
steps=24
job=("$gftrain" --config=job.prototxt --max_steps="$steps" --deterministic --set threads=1
  --set telemetry.display_interval=1 --set comm.threshold_first=2000
  --set comm.threshold_middle=20000)

# train NAME RANKS ARGUMENTS...: leaves the losses in NAME.txt, one a line.
train() {
  local name=$1 ranks=$2
  shift 2
  GF_EMULATED_GPUS=${gpus:-$ranks} on_ranks "$ranks" "${job[@]}" \
    --set telemetry.jsonl="$name.jsonl" --set checkpoint.dir="$name" "$@" >"$name.log" 2>&1 ||
    fail "$name"
  grep '"loss"' "$name.jsonl" | grep -v top1 | sed -E 's/.*"loss": ?([0-9.e+-]+).*/\1/' >"$name.txt"
}

# near A B LIMIT: the losses of two runs.
near() {
  [ "$(wc -l <"$1.txt")" = $steps ] || fail "$1: $(wc -l <"$1.txt") losses"
  paste "$1.txt" "$2.txt" | awk -v limit="$3" '
    { d = $1 - $2; if (d < 0) d = -d; if (!(d <= limit * $2)) { print NR ": " $0; bad = 1 } }
    END { exit bad }' || fail "losses of $1 and $2 differ"
}

for ranks in 1 2 3; do
  train "cpu$ranks" "$ranks" --set device=cpu
  train "cuda$ranks" "$ranks" --set device=cuda
  near "cuda$ranks" "cpu$ranks" 1e-3
done
grep -q 'allreduce *NCCL' cuda3.log || fail "not through NCCL"
for flags in mode=PER_TENSOR mode=AFTER_BACKWARD sharded_update=true algorithm=ring \
  wire_type=BF16; do
  train "$flags" 2 --set device=cuda --set "comm.$flags"
  near "$flags" cpu2 "$([ $flags = wire_type=BF16 ] && echo 0.02 || echo 1e-3)"
done
gpus=1 train shared 2 --set device=cuda
grep -q 'through host memory' shared.log || fail "two ranks on one GPU, and not through the host"
near shared cpu2 1e-3

# Chunks are those of the device's own order of parameters.
sparse=(--set device=cuda --set comm.mode=SPARSE --set comm.sparse.density=0.3
  --set comm.sparse.chunk_size=500 --set comm.sparse.warmup_fraction=0.01)
train sparse 2 "${sparse[@]}"
gpus=1 train sparse_shared 2 "${sparse[@]}"
near sparse sparse_shared 1e-6

train mixed 2 --set device=cuda --set compute_type=FP16 --set solver.loss_scale.policy=DYNAMIC
near mixed cpu2 0.05

# Steps are skipped while the loss scale is too large, and numbered from 1.
train skipped 2 --set device=cuda --set compute_type=FP16 --set solver.loss_scale.policy=DYNAMIC \
  --set solver.loss_scale.scale=16777216
grep -q '^step 1: gradients are not finite, first in layer .*; skipped, loss scale 8.38861e+06$' \
  skipped.log || fail "the first step was not skipped"

# The host waits for a GPU at most once per step: runs of different lengths within an epoch. (Once
# more in a step that is skipped, to say which layer was to blame: the scale is one that fits.)
# Deterministic runs wait the same number of times before the first step: no engine is timed.
waits() { # STEPS FLAG...
  local count=$1
  shift
  GF_EMULATED_COUNTS=1 "$gftrain" --config=job.prototxt --max_steps="$count" --set device=cuda \
    --deterministic --set telemetry.display_interval=1000 --set checkpoint.dir= "$@" 2>&1 |
    sed -n 's/^emulated GPU: \([0-9]*\) host waits$/\1/p'
}
for flags in compute_type=BF16 \
  "compute_type=FP16 --set solver.loss_scale.policy=DYNAMIC --set solver.loss_scale.scale=1024"; do
  # shellcheck disable=SC2086  # several words
  short=$(waits 10 --set $flags) long=$(waits 28 --set $flags)
  echo "$flags: $short waits in 10 steps, $long in 28"
  [[ -n $short && $((long - short)) -le 18 ]] || fail "more than one wait per step"
  [[ $((long - short)) -gt 0 ]] || fail "waits are not counted"
done

# A checkpoint of one device continues on the other.
train first 2 --set device=cpu --max_steps=10
train first 2 --set device=cuda --resume
[ "$(grep -c '"loss"' first.jsonl)" -ge $steps ] || fail "the restart on a GPU"
near first cpu2 1e-3

# The GPU's own restart loses no bit.
train whole 2 --set device=cuda
train parts 2 --set device=cuda --max_steps=10
train parts 2 --set device=cuda --resume
same_weights "parts/step-000000$steps" "whole/step-000000$steps"
echo PASS
