#!/bin/bash
# stop_test.sh: jobs that are ended in the middle of a step of several seconds, by Ctrl-C on mpirun
# (which kills the ranks two seconds later), by two of them, or because a rank is lost, keep the
# last complete step, say so, and continue to the bits of a job that was never interrupted.
. tests/integration/lib.sh
make_job
sed -i 's/^solver {/& iter_size: 1/' job.prototxt

exact=(--deterministic)
train() {
  exec "$mpirun" -np 2 "$gftrain" --config=job.prototxt "${exact[@]}" \
    --set comm.timeout_s=60 --set comm.flight_recorder= --set telemetry.jsonl= \
    --set solver.warmup_steps=0 --set telemetry.display_interval=1 \
    --set validation_interval_epochs=1000000000 "$@"
}

# A step takes several times as long as mpirun leaves.
batches=$(batches_for 8 train) || exit 1
sed -i "s/iter_size: 1/iter_size: $batches/" job.prototxt

# start FOLDER ARGUMENTS...: in the background, until the step after `step` has begun.
step=1
start() {
  log=$1.log
  (train --set checkpoint.dir="$1" "${@:2}") >"$log" 2>&1 &
  job=$!
  wait_for "^step $step/" && sleep 0.5
}

wait_for() { # PATTERN: in the log
  for _ in $(seq 3000); do
    grep -qE -- "$1" "$log" && return 0
    sleep 0.02
  done
  fail "no \"$1\" in $log"
}

(train --set checkpoint.dir=whole --max_steps=2) >whole.log 2>&1 || fail "uninterrupted run"

start once
kill -INT "$job"
wait "$job" && fail "exit code 0 after Ctrl-C"
wait_for 'gftrain: ended in step 2; step 1 is saved in once/step-00000001; continue with --resume$'
[ "$(ls once)" = step-00000001 ] || fail "once: $(ls once)"

start twice
kill -INT "$job"
sleep 0.3
kill -INT "$job"
wait "$job" && fail "exit code 0 after two Ctrl-C"
wait_for 'gftrain: ended in step 2; step 1 is saved in twice/step-00000001; continue with --resume$'
same_weights once/step-00000001 twice/step-00000001

start without_mpirun
kill -KILL "$job"
wait "$job" && fail "exit code 0 after kill -9 of mpirun"
wait_for 'ended in step 2; step 1 is saved in without_mpirun/step-00000001; continue with --resume$'
same_weights once/step-00000001 without_mpirun/step-00000001

# The optimizer, the statistics of batch norm and the position in the data, too.
(train --set checkpoint.dir=once --resume --max_steps=2) >resumed.log 2>&1 || fail "resuming"
grep -q 'resuming from once/step-00000001, step 1' resumed.log || fail "resumed from elsewhere"
same_weights whole/step-00000002 once/step-00000002

start lost --set comm.timeout_s=3
for pid in $(pgrep -P "$job"); do
  tr '\0' '\n' <"/proc/$pid/environ" | grep -qx PMIX_RANK=1 && kill -STOP "$pid"
done
wait "$job"
code=$?
[ $code = 3 ] || fail "exit code $code when a rank is lost"
wait_for 'gftrain: ended in step 2; step 1 is saved in lost/step-00000001; continue with --resume$'
same_weights once/step-00000001 lost/step-00000001

# What is saved has no residuals, also in a job that was resumed with some.
sparse=(--set comm.mode=SPARSE --set comm.sparse.chunk_size=800)
exact=()
(train --set checkpoint.dir=sparse "${sparse[@]}" --set solver.iter_size=1 --max_steps=1) \
  >sparse.log 2>&1 || fail "SPARSE"
[ -f sparse/step-00000001/residual-00001.safetensors ] || fail "SPARSE without residuals"
step=2
start sparse "${sparse[@]}" --resume --set checkpoint.keep=1
kill -INT "$job"
wait "$job"
wait_for 'ended in step 3; step 2 is saved in sparse/step-00000002; continue with --resume$'
[ -f sparse/step-00000001/residual-00001.safetensors ] ||
  fail "the last checkpoint with residuals is gone"
(train --set checkpoint.dir=sparse "${sparse[@]}" --resume --set solver.iter_size=1 \
  --max_steps=3) >resumed.log 2>&1 || fail "resuming SPARSE"
grep -q 'resuming from sparse/step-00000002' resumed.log || fail "SPARSE resumed from elsewhere"

# What --deterministic promises needs the residuals of all ranks.
exact=(--deterministic)
(train --set checkpoint.dir=exact "${sparse[@]}" --set solver.iter_size=1 --max_steps=1) \
  >exact.log 2>&1 || fail "SPARSE, deterministic"
step=2
start exact "${sparse[@]}" --resume
kill -INT "$job"
wait "$job"
wait_for 'ended in step 3; lost: 1 step, because a run with --deterministic cannot go on without'
[ ! -e exact/step-00000002 ] || fail "--deterministic: a checkpoint without residuals"

step=1
start overlapped --set checkpoint.keep_last_step=false
kill -INT "$job"
wait "$job"
wait_for 'ended in step 2; lost: 1 step, because checkpoint.keep_last_step is false; there is no'
[ -z "$(ls overlapped)" ] || fail "keep_last_step=false: $(ls overlapped)"
echo PASS
