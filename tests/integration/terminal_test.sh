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
short="--set solver.iter_size=100"
long="--set solver.iter_size=$(batches_for 8 train)" || exit 1

on_terminal alone '^continue with the same command and --resume$' \
  "$gftrain $options $short --set checkpoint.dir=run.alone"
on_terminal alone_tee 'gftrain: stopped after step [0-9]+; continue with the same command and --r' \
  "$gftrain $options $short --set checkpoint.dir=run.alone_tee 2>&1 | tee tee.log"
on_terminal short_tee 'gftrain: stopped after step [0-9]+; continue with the same command and --r' \
  "$mpirun -np 2 $gftrain $options $short --set checkpoint.dir=run.short_tee 2>&1 | tee tee.log"
grep -h 'gftrain: error' alone_tee.log short_tee.log && fail "an error about the output"
[ -z "$(grep 'continue with' tee.log)" ] || fail "the tee lived on"
on_terminal long 'gftrain: ended in step 2; step 1 is saved in run.long/step-00000001; continue' \
  "$mpirun -np 2 $gftrain $options $long --set checkpoint.dir=run.long"
on_terminal long_tee 'gftrain: ended in step 2; step 1 is saved in run.long_tee/step-0000000' \
  "$mpirun -np 2 $gftrain $options $long --set checkpoint.dir=run.long_tee 2>&1 | tee tee.log"
echo PASS
