#!/bin/bash
# signals_test.sh RANKS: SIGTERM to one rank = all write a checkpoint and end with exit code 0;
# SIGUSR1 = a checkpoint, and training goes on. So it is from before MPI has started to the end of
# the process.
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
  exec "$mpirun" -np "$ranks" "$@"
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
# Steps since the last line are told of before the end.
(train --set checkpoint.dir=quiet --set telemetry.display_interval=1000000 \
  --set checkpoint.interval_steps=5 --set checkpoint.keep=0) >quiet.log 2>&1 &
job=$!
wait_for '^checkpoint  step 5 ' quiet.log
if [ "$ranks" = 1 ]; then one=$job; else one=$(pgrep -P "$job" | head -n 1); fi
kill -TERM "$one"
wait "$job"
code=$?
[ $code = 0 ] || fail "exit code $code after SIGTERM between two lines"
step=$(sed -n 's/^stopped by a signal at step \([0-9]*\),.*/\1/p' quiet.log)
[ "$(grep '^step ' quiet.log | sed 's!^step \([0-9]*\)/.*!\1!')" = "$step" ] ||
  fail "not exactly one line, of step $step, at the end"
grep -q "\"kind\":\"train\".*\"step\":$step," log.jsonl || fail "step $step is not in the log"

# catches_sigterm PID: whether it has a handler for SIGTERM (15).
catches_sigterm() {
  local caught
  caught=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null)
  [ -n "$caught" ] && [ $(((16#${caught: -8} >> 14) & 1)) = 1 ]
}

# Two ranks, of which rank 1 starts when there is a file "go". Until then rank 0 is in MPI's start.
start_late() { # ARGUMENTS...
  local program=("$gftrain" --config=job.prototxt --set comm.timeout_s=60 "$@")
  exec "$mpirun" -np 2 sh -c \
    'until [ "$OMPI_COMM_WORLD_RANK" = 0 ] || [ -e go ]; do sleep 0.02; done; exec "$@"' sh \
    "${program[@]}"
}

if [ "$ranks" != 1 ]; then
  (start_late --set checkpoint.dir=early) >early.log 2>&1 &
  job=$!
  one=
  for _ in $(seq 1000); do
    for pid in $(pgrep -P "$job"); do
      [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = gftrain ] && catches_sigterm "$pid" && one=$pid
    done
    [ -n "$one" ] && break
    sleep 0.02
  done
  [ -n "$one" ] && kill -TERM "$one"
  touch go
  [ -n "$one" ] || fail "no handler for SIGTERM in the start of MPI"
  wait "$job"
  code=$?
  [ $code = 0 ] || fail "exit code $code after SIGTERM in the start of MPI"
  grep -q 'stopped by a signal at step 1,' early.log || fail "SIGTERM in the start is forgotten"
  [ -d early/step-00000001 ] || fail "no checkpoint after SIGTERM in the start of MPI"
fi

# While the config is read, a signal ends the program.
mkfifo config.fifo
"$gftrain" --config=config.fifo >fifo.log 2>&1 &
job=$!
sleep 0.3
kill -TERM "$job"
timeout 10 tail --pid="$job" -f /dev/null ||
  fail "SIGTERM does not end a program that waits for its config"
wait "$job"

# After the last step, a signal changes nothing.
(train --set checkpoint.dir=late --set solver.max_steps=30) >late.log 2>&1 &
job=$!
wait_for '^step 20/' late.log
if [ "$ranks" = 1 ]; then one=$job; else one=$(pgrep -P "$job" | head -n 1); fi
wait_for '^training has ended' late.log
while kill -TERM "$one" 2>/dev/null; do
  # A process that has ended is there until its parent looks.
  grep -q '^State:.Z' "/proc/$one/status" 2>/dev/null && break
done
wait "$job"
code=$?
[ $code = 0 ] || fail "exit code $code after SIGTERM behind the last step"
echo PASS
