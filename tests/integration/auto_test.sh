#!/usr/bin/env bash
# comm.mode AUTO: what it says, what it keeps over a restart, what it refuses.
. tests/integration/lib.sh
make_job
sed -i 's/ jsonl: "log.jsonl"//; s/dir: "run"/dir: "checkpoints"/' job.prototxt

# One algorithm and one thread: after the choice, sums have the same bits in every run.
train() { # NAME RANKS ARGUMENTS...
  local name=$1 ranks=$2
  shift 2
  on_ranks "$ranks" "$gftrain" --config=job.prototxt --set comm.mode=AUTO --set threads=1 \
    --set comm.algorithm=ring --set comm.sparse.chunk_size=500 --set comm.timeout_s=60 \
    --set solver.base_lr=0.002 --set solver.max_steps=160 --set checkpoint.keep=0 "$@" \
    >"$name.log" 2>&1 || fail "$name"
}
chosen_in() { sed -n 's/^comm.mode AUTO after step [0-9]*: //p' "$1"; }
step() { printf 'step-%08d' "$1"; }

train whole 2 --run_dir=runs/whole --set checkpoint.dir=whole --set checkpoint.interval_steps=2
chosen=$(chosen_in whole.log)
[ -n "$chosen" ] || fail "does not say what it has chosen"
pattern=${chosen//\*/\\*}
grep -qE '^  LAZY FP32 +[0-9]+ +[0-9.]+ kB +0\.0 ' whole.log || fail "no table"
grep -qE '^  SPARSE 0.02 ' whole.log || fail "no whole table"
[ "$(grep -c '"kind":"auto"' runs/whole/log.jsonl)" = 1 ] || fail "not in the log"
grep '"kind":"auto"' runs/whole/log.jsonl | grep -q "\"chosen\":\"$pattern\"" ||
  fail "the log has another choice"
grep -q "\"exchange\": \"$pattern\"" "whole/$(step 160)/state.json" || fail "not in the checkpoint"
grep -q exchange "whole/$(step 2)/state.json" && fail "chosen too early"

# The same bits from a checkpoint after the choice on.
mkdir again
cp -r "whole/$(step 78)" again
train again 2 --resume --set checkpoint.dir=again --set checkpoint.interval_steps=2
grep -q "^comm.mode AUTO: $pattern, as before the checkpoint" again.log || fail "not kept"
[ -z "$(chosen_in again.log)" ] || fail "chosen a second time"
same_weights "whole/$(step 160)" "again/$(step 160)"

# From a checkpoint before the choice, for another world, and for other settings.
anew() { # NAME STEP RANKS WHY ARGUMENTS...
  local name=$1 at=$2 ranks=$3 why=$4
  shift 4
  mkdir "$name"
  cp -r "whole/$(step "$at")" "$name"
  train "$name" "$ranks" --resume --set checkpoint.dir="$name" "$@"
  grep -q "^comm.mode AUTO measures anew: $why" "$name.log" || fail "$name: no \"$why\""
  grep -q '^comm.mode AUTO after step [0-9]*:' "$name.log" || fail "$name: no new choice"
}
anew early 2 2 'the checkpoint holds no choice'
anew world 78 3 "its choice $pattern was for 2 ranks"
anew settings 78 2 "its choice $pattern was for other settings" --set comm.auto.exposed=0.5
anew batch 78 2 "its choice $pattern was for another batch, size of images or device" \
  --set train_data.batch_size=4

# Nothing travels in a world of one rank.
train alone 1 --set checkpoint.dir=
grep -q 'comm.mode AUTO after' alone.log && fail "one rank chooses"

expect_error '--deterministic: comm.mode AUTO chooses by measured times' \
  "$gftrain" --config=job.prototxt --set comm.mode=AUTO --deterministic
expect_error 'comm.wire_type does not go with comm.mode AUTO, which chooses it' \
  "$gftrain" --config=job.prototxt --set comm.mode=AUTO --set comm.wire_type=BF16
expect_error 'comm.auto.exposed is -1, must be at least 0' \
  "$gftrain" --config=job.prototxt --set comm.mode=AUTO --set comm.auto.exposed=-1
expect_error 'comm.mode AUTO cannot measure on the device "cuda"' \
  "$gftrain" --config=job.prototxt --set comm.mode=AUTO --set device=cuda
echo PASS
