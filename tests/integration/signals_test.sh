#!/bin/bash
# signals_test.sh RANKS: SIGTERM to one rank = all write a checkpoint and end with exit code 0;
# SIGUSR1 = a checkpoint, and training goes on.
ranks=$1
. tests/integration/lib.sh
make_job

train() {
  exec_ranks "$ranks" "$gftrain" --config=job.prototxt --set comm.timeout_s=60 \
    --set checkpoint.interval_steps=0 --set solver.max_steps=1000000 \
    --set telemetry.display_interval=1 --set validation_interval_epochs=100000 "$@"
}

# Like on_ranks, in place of the shell, so that $! is the program.
exec_ranks() {
  local ranks=$1
  shift
  if [ "$ranks" = 1 ]; then exec "$@"; fi
  exec mpirun --allow-run-as-root --oversubscribe --bind-to none \
    --mca btl self,vader,tcp --mca btl_tcp_if_include lo --mca mpi_yield_when_idle 1 \
    -np "$ranks" "$@"
}

wait_for() { # PATTERN FILE
  for _ in $(seq 3000); do
    grep -q -- "$1" "$2" && return 0
    sleep 0.02
  done
  fail "no \"$1\" in $2"
}

(train --set checkpoint.dir=run) >run.log 2>&1 &
job=$!
wait_for '^step 5/' run.log
if [ "$ranks" = 1 ]; then one=$job; else one=$(pgrep -P "$job" | head -n 1); fi

kill -USR1 "$one"
wait_for '^checkpoint ' run.log
[ "$(ls -d run/step-* | wc -l)" = 1 ] || fail "not one checkpoint after SIGUSR1"
seen=$(grep -c '^step ' run.log)
for _ in $(seq 1000); do
  [ "$(grep -c '^step ' run.log)" -gt $((seen + 5)) ] && break
  sleep 0.02
done
[ "$(grep -c '^step ' run.log)" -gt $((seen + 5)) ] || fail "training did not go on after SIGUSR1"

kill -TERM "$one"
wait "$job"
code=$?
[ $code = 0 ] || fail "exit code $code after SIGTERM"
grep -q 'stopped by a signal at step' run.log || fail "does not say why it stopped"
[ "$(ls -d run/step-* | wc -l)" = 2 ] || fail "no checkpoint after SIGTERM"

last=$(ls -d run/step-* | tail -n 1)
step=$((10#${last##*-}))
on_ranks "$ranks" "$gftrain" --config=job.prototxt --set checkpoint.dir=run --resume \
  --max_steps=$((step + 3)) --set solver.max_steps=1000000 >resumed.log 2>&1 || fail "resuming"
grep -q "resuming from $last, step $step" resumed.log || fail "resumed from elsewhere"
echo PASS
