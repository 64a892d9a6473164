#!/bin/bash
# kill_test.sh RANKS dense|sparse|topk|low_rank|quantized|periodic: a run is killed with -9 at
# random moments, GF_KILLS times (6), with a checkpoint after every step (of PERIODIC every round),
# so that many hit a save. Resuming always works, no checkpoint is ever damaged, and the end has the
# bits of a run that was never interrupted.
ranks=$1 exchange=$2
kills=${GF_KILLS:-6}
. tests/integration/lib.sh
make_job
settings=()
if [ "$exchange" = sparse ]; then
  settings=(--set comm.mode=SPARSE --set comm.sparse.chunk_size=1000)
elif [ "$exchange" = topk ]; then
  settings=(--set comm.mode=TOPK)
elif [ "$exchange" = low_rank ]; then
  settings=(--set comm.mode=LOW_RANK)
elif [ "$exchange" = quantized ]; then
  settings=(--set comm.mode=QUANTIZED --set comm.quantized.bits=4 --set comm.quantized.rotate=true
    --set solver.base_lr=0.002)
elif [ "$exchange" = periodic ]; then
  settings=(--set comm.mode=PERIODIC --set comm.periodic.steps=3
    --set comm.periodic.outer_momentum=0.8 --set solver.base_lr=0.002)
fi
steps=$((100 + 50 * kills))

train() {
  on_ranks "$ranks" "$gftrain" --config=job.prototxt --deterministic --resume \
    --set comm.timeout_s=60 --set checkpoint.interval_steps=1 --set solver.max_steps=$steps \
    --set telemetry.display_interval=100 "${settings[@]}" "$@"
}

train --set checkpoint.dir=whole >whole.log 2>&1 || fail "uninterrupted run"

killed=0 hit_saves=0 resumed=0
for i in $(seq "$kills"); do
  train --set checkpoint.dir=killed >"killed.$i.log" 2>&1 &
  pid=$!
  # Every third during the start, the others somewhere among steps and saves.
  if [ $((i % 3)) != 0 ]; then
    for _ in $(seq 2000); do
      grep -q '^checkpoint' "killed.$i.log" && break
      sleep 0.01
    done
  fi
  sleep "0.$(printf '%03d' $((RANDOM % 150)))"
  kill_job "$pid"
  grep -q 'passed over' "killed.$i.log" && fail "a checkpoint was damaged"
  # A fast machine may get to the end before the last kills.
  grep -q 'training has ended' "killed.$i.log" && break
  killed=$i
  ls -d killed/.tmp-step-* >/dev/null 2>&1 && hit_saves=$((hit_saves + 1))
  grep -q 'resuming from' "killed.$i.log" && resumed=$((resumed + 1))
done
[ "$((2 * killed))" -ge "$kills" ] || fail "only $killed of $kills kills came before the end"
train --set checkpoint.dir=killed >end.log 2>&1 || fail "the last run"
grep -q 'passed over' end.log && fail "a checkpoint was damaged"
last=$(printf "step-%08d" "$steps")
same_weights "whole/$last" "killed/$last"
ls -d killed/.tmp-* killed/.trash-* >/dev/null 2>&1 && fail "dead runs' files were not removed"
echo "PASS: $killed kills, $hit_saves of them during a save, $resumed runs had resumed"
