#!/bin/bash
# stop_trials.sh STEP_S TIMES: jobs with steps of about STEP_S seconds, ended by TIMES Ctrl-C on
# mpirun at random moments. Every job must say what it kept and how to continue, keep each step that
# it had printed, leave no process behind, and continue. GF_TRIALS=50 for the full run, by hand:
#
#   bazel test --test_env=GF_TRIALS=50 --test_output=all //tests/integration:stop_trials_5_twice
. tests/integration/lib.sh
step_s=$1 times=$2 trials=${GF_TRIALS:-2}
make_job
job=0
trap 'kill_job "$job" 2>/dev/null; rm -rf "$work"' EXIT
sed -i 's/^solver {/& iter_size: 1/' job.prototxt

train() {
  exec "$mpirun" -np 2 "$gftrain" --config=job.prototxt --set telemetry.jsonl= \
    --set solver.warmup_steps=0 --set telemetry.display_interval=1 \
    --set validation_interval_epochs=1000000000 "$@"
}

batches=$(batches_for "$step_s" train) || exit 1
echo "$trials trials; a step has $batches batches per rank"

# random_time SECONDS: between 0 and so many
random_time() { awk -v r="$RANDOM" -v s="$1" 'BEGIN { printf "%.3f", s * r / 32768 }'; }

wait_for() { # SECONDS PATTERN: in the log
  for _ in $(seq $(($1 * 50))); do
    grep -qE -- "$2" "$log" && return 0
    sleep 0.02
  done
  fail "no \"$2\" in $log; checkpoints: $(ls "$folder"); processes: $(pgrep -a gftrain)"
}

# What a job says that was killed, and one that ended by itself.
killed='gftrain: ended in step .*; continue with --resume'
stopped='continue with the same command and --resume'
stops=0 kills=0
for trial in $(seq "$trials"); do
  rm -f ./*.log
  log=trial.$trial.log folder=$work/run.$trial
  (train --set checkpoint.dir="$folder" --set solver.iter_size="$batches" \
    --max_steps=1000000) >"$log" 2>&1 &
  job=$!
  wait_for 300 '^step 1/'
  sleep "$(random_time "$step_s")"
  kill -INT "$job"
  for _ in $(seq 2 "$times"); do
    sleep "$(random_time 1)"
    kill -INT "$job" 2>/dev/null
  done
  wait "$job" && fail "trial $trial: exit code 0 after Ctrl-C"
  wait_for 20 "^($killed|$stopped)\$"
  printed=$(sed -n 's!^step \([0-9]*\)/.*!\1!p' "$log" | tail -n 1)
  # shellcheck disable=SC2012 # names are step-DIGITS
  kept=$(ls "$folder" | sed -n 's/^step-0*//p' | tail -n 1)
  [ "${kept:-0}" -ge "$printed" ] || fail "trial $trial: kept step ${kept:-none} of $printed"
  if grep -qE "^$killed\$" "$log"; then
    line="ended in step $((kept + 1)); step $kept is saved in $folder/step-"
    grep -qF "$line" "$log" || fail "trial $trial: no \"$line\""
    kills=$((kills + 1))
  else
    stops=$((stops + 1))
  fi
  for _ in $(seq 500); do
    pgrep -f "checkpoint.dir=$folder" >/dev/null || break
    sleep 0.02
  done
  pgrep -f "checkpoint.dir=$folder" >/dev/null && fail "trial $trial: processes are left"
  (train --set checkpoint.dir="$folder" --resume --max_steps=$((kept + 1))) >resumed.log 2>&1 ||
    fail "trial $trial: resuming"
  grep -q "resuming from $folder/step-.*, step $kept\$" resumed.log ||
    fail "trial $trial: resumed elsewhere"
  rm -rf "$folder"
done
echo "$trials of $trials kept their last step: $stops ended by themselves, $kills were killed"
echo PASS
