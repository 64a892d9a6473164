#!/usr/bin/env bash
# After which steps a job evaluates: validation_interval_steps, and validate_at_start.
. tests/integration/lib.sh
make_job

# run NAME RANKS STEPS ARGUMENTS...: an evaluation every 10 steps; NAME.jsonl is its log.
run() {
  local name=$1 ranks=$2 steps=$3
  shift 3
  on_ranks "$ranks" "$gftrain" --config=job.prototxt --deterministic --set solver.warmup_steps=0 \
    --set validation_interval_steps=10 --set telemetry.jsonl="$name.jsonl" \
    --set checkpoint.dir="$name" --max_steps="$steps" "$@" >"$name.log" 2>&1 || fail "$name"
}

# evaluated NAME STEPS: the steps of all evaluations in the log, in this order.
evaluated() {
  local steps
  steps=$(python3 - "$1.jsonl" <<'PY'
import json, sys
records = [json.loads(line) for line in open(sys.argv[1])]
print(" ".join(str(r["step"]) for r in records if r["kind"] == "validation"))
PY
  ) || fail "$1: no log"
  [ "$steps" = "$2" ] || fail "$1: evaluations after steps $steps, expected $2"
}

run plain 2 25
evaluated plain "10 20 25"
run start 2 25 --set validate_at_start=true
evaluated start "0 10 20 25"
# The one at the start changes nothing.
same_weights plain/step-00000025 start/step-00000025

# None, and only the one at the end.
run off 1 15 --set validation_data=
evaluated off ""
run end 1 15 --set validation_interval_steps=0 --set validation_interval_epochs=0
evaluated end "15"

# No second one after a resume.
run start 2 34 --set validate_at_start=true --resume
evaluated start "0 10 20 25 30 34"
# --resume without a checkpoint is a new job.
run fresh 1 25 --set validate_at_start=true --resume
evaluated fresh "0 10 20 25"

# With --weights it evaluates these.
run weights 2 25 --set validate_at_start=true --weights=plain/step-00000025
evaluated weights "0 10 20 25"
python3 - <<'PY' || fail "the evaluation of --weights"
import json
def validation(name, step):
    records = [json.loads(line) for line in open(name)]
    return [r for r in records if r["kind"] == "validation" and r["step"] == step][0]
before, after = validation("plain.jsonl", 25), validation("weights.jsonl", 0)
assert after["epoch"] == 0 and before["images"] == after["images"] == 60
assert before["top1"] == after["top1"] and abs(before["loss"] - after["loss"]) < 1e-6
PY

# Evaluations wait for the ends of rounds of 4 steps.
run rounds 2 24 --set validate_at_start=true --set comm.mode=PERIODIC --set comm.periodic.steps=4 \
  --set comm.periodic.warmup_fraction=0
evaluated rounds "0 12 20 24"

# Intervals longer than training: the end is evaluated all the same.
run long 1 25 --set validation_interval_steps=1000
evaluated long "25"

expect_error 'validation_interval_steps does not go with validation_interval_epochs' "$gftrain" \
  --config=job.prototxt --set validation_interval_steps=10 --set validation_interval_epochs=1
echo PASS
