#!/bin/bash
# terminal_test.sh: Ctrl-C in a terminal, also with `| tee log`, whose tee it ends, too. The
# terminal shows what is kept and how to continue, whether the job ends by itself or is killed.
. tests/integration/lib.sh
make_job
sed -i 's/^solver {/& iter_size: 1/' job.prototxt
options="--config=job.prototxt --set solver.max_steps=1000000 --set telemetry.jsonl= \
  --set solver.warmup_steps=0 --set telemetry.display_interval=1 \
  --set validation_interval_epochs=1000000000"

# on_terminal NAME PATTERN COMMAND: Ctrl-C after "step 1/"; the terminal must show the pattern.
on_terminal() {
  timeout 120 python3 "$root/tests/integration/press_ctrl_c.py" 'step 1/' "$3" >"$1.log" ||
    fail "$1: exit code $? of press_ctrl_c.py"
  grep -qE -- "$2" "$1.log" || fail "$1: no \"$2\""
  [ -n "$(ls "run.$1")" ] || fail "$1: no checkpoint"
}
train() {
  # shellcheck disable=SC2086 # options are words
  exec "$mpirun" -np 2 "$gftrain" $options "$@"
}
# killed NAME PIPE: Ctrl-C in a step of several seconds, which mpirun does not wait for. A machine
# that is faster than it was ends the step before that: then the next has twice as many batches.
batches=$(batches_for 8 train) || exit 1
killed() {
  local line="gftrain: ended in step 2; step 1 is saved in run.$1/step-00000001; continue"
  for _ in 1 2 3 4; do
    rm -rf "run.$1"
    on_terminal "$1" "$line|^stopped by a signal|gftrain: stopped after step" \
      "$mpirun -np 2 $gftrain $options --set checkpoint.dir=run.$1 \
        --set solver.iter_size=$batches$2"
    grep -qF "$line" "$1.log" && return
    batches=$((batches * 2))
  done
  fail "$1: never \"$line\""
}
short="--set solver.iter_size=100"

on_terminal alone '^continue with the same command and --resume$' \
  "$gftrain $options $short --set checkpoint.dir=run.alone"
on_terminal alone_tee 'gftrain: stopped after step [0-9]+; continue with the same command and --r' \
  "$gftrain $options $short --set checkpoint.dir=run.alone_tee 2>&1 | tee tee.log"
on_terminal short_tee 'gftrain: stopped after step [0-9]+; continue with the same command and --r' \
  "$mpirun -np 2 $gftrain $options $short --set checkpoint.dir=run.short_tee 2>&1 | tee tee.log"
grep -h 'gftrain: error' alone_tee.log short_tee.log && fail "an error about the output"
[ -z "$(grep 'continue with' tee.log)" ] || fail "the tee lived on"
killed long ""
killed long_tee " 2>&1 | tee tee.log"
echo PASS
