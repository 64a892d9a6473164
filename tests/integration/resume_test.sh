#!/bin/bash
# resume_test.sh RANKS: a run that is killed with -9 and resumed ends with the same bits as one
# that was never interrupted; so does one that was stopped with --max_steps.
ranks=$1
. tests/integration/lib.sh
make_job

train() { on_ranks "$ranks" "$gftrain" --config=job.prototxt --deterministic --set comm.timeout_s=60 "$@"; }

check() {
  local name=$1
  shift
  train --set checkpoint.dir="$name.whole" "$@" >"$name.whole.log" 2>&1 || fail "$name: whole run"

  # Stopped half-way between two checkpoints.
  train --set checkpoint.dir="$name.stopped" --max_steps=117 "$@" >"$name.stopped.log" 2>&1 ||
    fail "$name: first part"
  [ -d "$name.stopped/step-00000117" ] || fail "$name: no checkpoint where --max_steps stopped"
  train --set checkpoint.dir="$name.stopped" --resume "$@" >"$name.resumed.log" 2>&1 ||
    fail "$name: second part"
  grep -q "resuming from $name.stopped/step-00000117" "$name.resumed.log" ||
    fail "$name: does not say that it resumes"
  same_weights "$name.whole/step-00000300" "$name.stopped/step-00000300"

  # Killed: the last checkpoint is some steps old.
  train --set checkpoint.dir="$name.killed" "$@" >"$name.killed.log" 2>&1 &
  local pid=$!
  for _ in $(seq 3000); do
    [ -d "$name.killed/step-00000100" ] && break
    sleep 0.01
  done
  kill_job "$pid"
  [ -d "$name.killed/step-00000100" ] || fail "$name: no checkpoint"
  [ -d "$name.killed/step-00000300" ] && fail "$name: it was too fast to be killed"
  train --set checkpoint.dir="$name.killed" --resume "$@" >"$name.again.log" 2>&1 ||
    fail "$name: after the kill"
  same_weights "$name.whole/step-00000300" "$name.killed/step-00000300"
}

check fp32
check bf16 --set compute_type=BF16 --set solver.iter_size=2
echo PASS
