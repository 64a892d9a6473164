#!/bin/bash
# resume_test.sh RANKS dense|average|sparse|topk|low_rank|quantized|periodic: a run that is killed
# with -9 and resumed ends with the same bits as one that was never interrupted; so does one that
# was stopped with --max_steps.
ranks=$1 exchange=$2
. tests/integration/lib.sh
make_job

# Where the processor does not compute in BF16, these runs are in FP32.
bf16=(--set compute_type=BF16)
if { "$gftrain" --config=job.prototxt --dry_run "${bf16[@]}" 2>&1 || true; } |
  grep -q 'not supported here'; then
  echo "NOT TESTED: BF16, in which this processor does not compute"
  bf16=()
fi

# Steps, steps between two checkpoints, and where a run is stopped: between two.
steps=300 interval=100 stop=117
# An emulated GPU takes as long for a third of them.
[ "${GF_TEST_DEVICE:-cpu}" = cpu ] || steps=90 interval=30 stop=47
name_of() { printf 'step-%08d' "$1"; }
first=$(name_of "$interval") between=$(name_of "$stop") second=$(name_of $((2 * interval)))
last=$(name_of "$steps")

train() {
  on_ranks "$ranks" "$gftrain" --config=job.prototxt --deterministic --set comm.timeout_s=60 \
    --set solver.max_steps="$steps" --set checkpoint.interval_steps="$interval" "$@"
}

check() {
  local name=$1
  shift
  train --set checkpoint.dir="$name.whole" "$@" >"$name.whole.log" 2>&1 || fail "$name: whole run"

  train --set checkpoint.dir="$name.stopped" --max_steps="$stop" "$@" >"$name.stopped.log" 2>&1 ||
    fail "$name: first part"
  [ -d "$name.stopped/$between" ] || fail "$name: no checkpoint where --max_steps stopped"
  train --set checkpoint.dir="$name.stopped" --resume "$@" >"$name.resumed.log" 2>&1 ||
    fail "$name: second part"
  grep -q "resuming from $name.stopped/$between" "$name.resumed.log" ||
    fail "$name: does not say that it resumes"
  same_weights "$name.whole/$last" "$name.stopped/$last"
  [[ $exchange = dense || $exchange = average ]] || keeps_residuals "$name.whole/$last" "$ranks"

  # Killed: the last checkpoint is some steps old. What a kill leaves does not depend on the device:
  # on an emulated GPU, which is slow, one way to exchange gradients is enough.
  [ "${GF_TEST_DEVICE:-cpu}" = cpu ] || [ "$exchange" = sparse ] || return 0
  train --set checkpoint.dir="$name.killed" "$@" >"$name.killed.log" 2>&1 &
  local pid=$!
  for _ in $(seq 3000); do
    [ -d "$name.killed/$first" ] && break
    sleep 0.01
  done
  kill_job "$pid"
  [ -d "$name.killed/$first" ] || fail "$name: no checkpoint"
  [ -d "$name.killed/$last" ] && fail "$name: it was too fast to be killed"
  train --set checkpoint.dir="$name.killed" --resume "$@" >"$name.again.log" 2>&1 ||
    fail "$name: after the kill"
  same_weights "$name.whole/$last" "$name.killed/$last"
}

# resume_as NAME PATTERN RANKS OPTIONS...: fp32.whole goes on, and says what it makes of it.
resume_as() {
  local name=$1 pattern=$2 on=$3
  shift 3
  cp -r fp32.whole "$name"
  on_ranks "$on" "$gftrain" --config=job.prototxt --set comm.timeout_s=60 --resume \
    --set solver.max_steps=$((steps + 20)) --set checkpoint.dir="$name" "$@" \
    >"$name.log" 2>&1 || fail "$name"
  [ -z "$pattern" ] || grep -q "$pattern" "$name.log" || fail "$name: no \"$pattern\""
}

if [ "$exchange" = dense ]; then
  check fp32
  check bf16 "${bf16[@]}" --set solver.iter_size=2
  check recipe --set train_data.policy.type=TRIVIAL_AUGMENT_WIDE \
    --set train_data.erasing.probability=0.3 --set train_data.mix.mixup=0.4 \
    --set train_data.mix.cutmix=1 --set train_data.alternate_mirror=true \
    --set solver.iter_size=2 "${bf16[@]}"
  # The batch grows a while before it is stopped, and once more after.
  check phases --set 'solver.batch_phase[0].epoch=3' --set 'solver.batch_phase[0].iter_size=2' \
    --set 'solver.batch_phase[1].epoch=20' --set 'solver.batch_phase[1].iter_size=3'
  check feedback --set comm.wire_type=BF16 --set comm.error_feedback=true "${low_rate[@]}"
  [ "$ranks" = 1 ] || keeps_residuals "feedback.whole/$last" "$ranks"
  check lamb --set solver.type=LAMB --set solver.base_lr=0.002 "${bf16[@]}"
  check muon --set solver.type=Muon --set solver.base_lr=0.002 "${bf16[@]}"
  # Two pools of state, of which each rank updates a part.
  check adam --set solver.type=Adam --set solver.base_lr=0.002 --set comm.sharded_update=true
  echo PASS
  exit 0
fi

if [ "$exchange" = average ]; then
  average=(--set solver.average.decay=0.98 --set solver.average.warmup=true)
  check fp32 "${average[@]}"
  [ "${GF_TEST_DEVICE:-cpu}" != cpu ] || check bf16 "${average[@]}" "${bf16[@]}" \
    --set solver.average.interval_steps=3 --set solver.iter_size=2
  # With Lookahead, weights and average are equal at the end.
  check lookahead --set solver.average.decay=0.9 --set solver.average.interval_steps=5 \
    --set solver.average.decay_power=3 --set solver.average.lookahead=true
  # Training validates what gfeval finds in the checkpoint.
  train --set checkpoint.dir=validated "${average[@]}" --set telemetry.jsonl=log.jsonl \
    --max_steps="$stop" >validated.log 2>&1 || fail "validation"
  on_ranks "$ranks" "$gfeval" --config=job.prototxt --checkpoint="validated/$between" \
    --json=eval.json >eval.log 2>&1 || fail "gfeval"
  python3 - <<'PY' || fail "another validation than gfeval's"
import json
lines = [json.loads(line) for line in open("log.jsonl")]
ours = [line for line in lines if line["kind"] == "validation"][-1]
theirs = json.load(open("eval.json"))
for field in "top1", "loss":
    assert abs(ours[field] - theirs[field]) < 1e-6, (ours, theirs)
PY
  # A step at a rate of nearly 0, which changes nothing: without the average the weights are the
  # trained ones, and a new average starts from these.
  still=(--set solver.base_lr=1e-30 --set solver.momentum=0)
  resume_as without "average is dropped" "$ranks" --set solver.average.decay=0 "${still[@]}" \
    --max_steps=$((steps + 1))
  mv fp32.whole averaged && cp -r without fp32.whole
  resume_as again "" "$ranks" "${average[@]}" "${still[@]}" --max_steps=$((steps + 2))
  python3 - "$steps" "averaged/$last" "lookahead.whole/$last" "without/$(name_of $((steps + 1)))" \
    "again/$(name_of $((steps + 2)))" <<'PY' || fail "weights and averages in the files"
import json, struct, sys

def read(path):
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header, data = json.loads(file.read(size)), file.read()
    return {name: data[slice(*entry["data_offsets"])] for name, entry in header.items()
            if name != "__metadata__"}

steps, averaged, lookahead, without, again = int(sys.argv[1]), *sys.argv[2:]
trained = read(averaged + "/optimizer.safetensors")
for folder, weights_equal_average in (averaged, False), (lookahead, True):
    mean = read(folder + "/weights.safetensors")
    own = read(folder + "/optimizer.safetensors")
    for name in "conv1.weight", "bn1.running_mean", "ip1.bias":
        assert (mean[name] == own["weights/" + name]) == weights_equal_average, (folder, name)
    assert struct.unpack("<q", mean["bn1.num_batches_tracked"])[0] == steps
for folder in without, again:
    weights = read(folder + "/weights.safetensors")
    for name in "conv1.weight", "ip1.bias":
        assert weights[name] == trained["weights/" + name], (folder, name)
PY
  expect_error 'solver.average does not go with comm.sharded_update' "$gftrain" \
    --config=job.prototxt "${average[@]}" --set comm.sharded_update=true
  expect_error 'solver.average does not go with comm.mode PERIODIC' "$gftrain" \
    --config=job.prototxt "${average[@]}" --set comm.mode=PERIODIC
  expect_error 'solver.average has no decay' "$gftrain" --config=job.prototxt \
    --set solver.average.lookahead=true
  expect_error 'solver.average.decay is 1, must be' "$gftrain" --config=job.prototxt \
    --set solver.average.decay=1
  echo PASS
  exit 0
fi

if [ "$exchange" = topk ]; then
  # The density is still falling where training is stopped.
  topk=(--set comm.mode=TOPK --set comm.topk.warmup_fraction=0.6 "${low_rate[@]}")
  check fp32 "${topk[@]}"
  if [ "${GF_TEST_DEVICE:-cpu}" = cpu ]; then
    check bf16 "${topk[@]}" "${bf16[@]}" --set comm.topk.density=0.001 \
      --set solver.nesterov=true
    check clipped "${topk[@]}" --set comm.wire_type=BF16 --set comm.topk.local_clip=0.5
  fi
  check scaled "${topk[@]}" --set comm.wire_type=FP16 --set solver.loss_scale.policy=DYNAMIC \
    --set solver.loss_scale.scale=1048576 --set solver.loss_scale.growth_interval=20
  for rank in $(seq 0 $((ranks - 1))); do
    grep -q '"velocity/' "fp32.whole/$last/residual-0000$rank.safetensors" ||
      fail "no velocity of rank $rank"
  done
  cp -r fp32.whole longer
  on_ranks 2 "$gftrain" --config=job.prototxt --set comm.timeout_s=60 --resume "${topk[@]}" \
    --set solver.max_steps=$((steps + 20)) --set checkpoint.dir=longer >longer.log 2>&1 ||
    fail "another world"
  [ "$ranks" = 2 ] || grep -q "begins with the mean of the residuals of" longer.log ||
    fail "does not say what becomes of residuals in another world"
  echo PASS
  exit 0
fi

if [ "$exchange" = low_rank ]; then
  # The first part ends behind the warm-up, which sends everything.
  low_rank=(--set comm.mode=LOW_RANK --set comm.low_rank.warmup_fraction=0.2 "${low_rate[@]}")
  check fp32 "${low_rank[@]}"
  if [ "${GF_TEST_DEVICE:-cpu}" = cpu ]; then
    check bf16 "${low_rank[@]}" "${bf16[@]}" --set comm.low_rank.rank=2
    check lars "${low_rank[@]}" --set solver.type=LARS "${low_lars_rate[@]}" \
      --set solver.correct_momentum=true
  fi
  check scaled "${low_rank[@]}" --set comm.wire_type=FP16 --set solver.loss_scale.policy=DYNAMIC \
    --set solver.loss_scale.scale=1048576 --set solver.loss_scale.growth_interval=20
  [ "$ranks" = 2 ] ||
    resume_as world "begins with the mean of the residuals of" 2 "${low_rank[@]}"
  resume_as rank "has no low-rank factors of this size" "$ranks" "${low_rank[@]}" \
    --set comm.low_rank.rank=1
  resume_as topk "residuals are converted" "$ranks" "${low_rank[@]}" --set comm.mode=TOPK
  resume_as lazy "residuals .* are lost" "$ranks" "${low_rank[@]}" --set comm.mode=LAZY
  echo PASS
  exit 0
fi

if [ "$exchange" = quantized ]; then
  quantized=(--set comm.mode=QUANTIZED "${low_rate[@]}")
  bits4=(--set comm.quantized.bits=4 --set comm.quantized.rotate=true)
  check fp32 "${quantized[@]}"
  [ "${GF_TEST_DEVICE:-cpu}" != cpu ] ||
    check bf16 "${quantized[@]}" "${bits4[@]}" "${bf16[@]}"
  check scaled "${quantized[@]}" "${bits4[@]}" --set comm.wire_type=FP16 \
    --set solver.loss_scale.policy=DYNAMIC --set solver.loss_scale.scale=1048576 \
    --set solver.loss_scale.growth_interval=20
  [ "$ranks" = 2 ] ||
    resume_as world "begins with the mean of the residuals of" 2 "${quantized[@]}"
  resume_as bits "comm.quantized.bits was 8, is 4" "$ranks" "${quantized[@]}" "${bits4[@]}"
  resume_as lazy "residuals .* are lost" "$ranks"
  echo PASS
  exit 0
fi

if [ "$exchange" = periodic ]; then
  # Checkpoints are due in the middle of rounds and wait for their ends; the last round is shorter.
  warmup=$((steps / 10))
  round_end() { echo $((warmup + ($1 - warmup + 3) / 4 * 4)); }
  first=$(name_of "$(round_end "$interval")") between=$(name_of "$(round_end "$stop")")
  second=$(name_of "$(round_end $((2 * interval)))")
  periodic=("${low_rate[@]}" --set comm.mode=PERIODIC --set comm.periodic.steps=4
    --set comm.periodic.warmup_fraction=0.1)
  outer=(--set comm.periodic.outer_lr=0.7 --set comm.periodic.outer_momentum=0.8)
  check fp32 "${periodic[@]}"
  grep -q "training ends after step $((10#${between#step-})) instead of $stop" \
    fp32.stopped.log || fail "does not say that a round goes to its end"
  check sparse "${periodic[@]}" "${outer[@]}" --set comm.periodic.exchange=SPARSE \
    --set comm.sparse.chunk_size=1000 --set comm.wire_type=BF16
  if [ "${GF_TEST_DEVICE:-cpu}" = cpu ]; then
    check bf16 "${periodic[@]}" "${outer[@]}" --set comm.periodic.exchange=TOPK \
      "${bf16[@]}" --set solver.iter_size=2
    check lamb "${periodic[@]}" --set comm.periodic.exchange=LOW_RANK --set solver.type=LAMB
    check feedback "${periodic[@]}" --set comm.wire_type=BF16 --set comm.error_feedback=true
  fi
  for rank in $(seq 0 $((ranks - 1))); do
    for pool in local_momentum outer_momentum outer_residual; do
      grep -q "\"$pool/" "sparse.whole/$last/residual-0000$rank.safetensors" ||
        fail "no $pool of rank $rank"
    done
  done
  [ "$ranks" != 1 ] && cmp -s "fp32.stopped/$between"/residual-0000{0,1}.safetensors &&
    fail "ranks have the same momentum"
  [ "$ranks" = 2 ] ||
    resume_as world "begins with the mean of the residuals of" 2 "${periodic[@]}"
  resume_as longer "comm.periodic.steps was 4, is 8" "$ranks" "${periodic[@]}" \
    --set comm.periodic.steps=8
  resume_as lazy "the momentum of each rank) are lost" "$ranks"
  cp -r lazy lazy.periodic
  on_ranks "$ranks" "$gftrain" --config=job.prototxt --set comm.timeout_s=60 --resume \
    "${periodic[@]}" --set solver.max_steps=$((steps + 40)) --set checkpoint.dir=lazy.periodic \
    >lazy.periodic.log 2>&1 || fail "from LAZY"
  grep -q "and every rank with the optimizer's momentum" lazy.periodic.log ||
    fail "does not say where the momentum comes from"
  echo PASS
  exit 0
fi

# The net has 88,000 gradients, mostly in one layer; the density is still falling where training is
# stopped.
sparse=(--set comm.mode=SPARSE --set comm.sparse.chunk_size=1000
  --set comm.sparse.warmup_fraction=0.6 "${low_rate[@]}" --set checkpoint.keep=0)
check fp32 "${sparse[@]}"
check bf16 "${sparse[@]}" "${bf16[@]}" --set comm.sparse.density=0.05
check lars "${sparse[@]}" --set solver.type=LARS "${low_lars_rate[@]}" \
  --set solver.correct_momentum=true
# The scale grows, overflows and changes the residuals' unit all the while.
check scaled "${sparse[@]}" --set comm.wire_type=FP16 --set solver.loss_scale.policy=DYNAMIC \
  --set solver.loss_scale.scale=1048576 --set solver.loss_scale.growth_interval=20
# One rank sends nothing that could overflow.
[ "$ranks" = 1 ] || grep -q 'gradients are not finite.*skipped, loss scale' scaled.whole.log ||
  fail "scaled: no step was skipped"
keeps_residuals "fp32.stopped/$between" "$ranks"
[ "$ranks" != 1 ] && cmp -s "fp32.stopped/$between"/residual-0000{0,1}.safetensors &&
  fail "ranks have the same residuals"

# Gradients are computed at weights that are ahead of those that validation and checkpoints have.
if [ "$ranks" != 1 ]; then
  train --set checkpoint.dir=plain "${sparse[@]}" --set comm.sparse.step_ahead=false \
    --set comm.sparse.momentum_correction=false >plain.log 2>&1 || fail "no step ahead"
  cmp -s "plain/$last/weights.safetensors" "fp32.whole/$last/weights.safetensors" &&
    fail "step_ahead changes nothing"
  "$gfeval" --config=job.prototxt --checkpoint="fp32.whole/$second" >eval.log 2>&1 || fail "gfeval"
  validated=$(sed -n "s/^validation  step $((2 * interval)) .* loss \([0-9.]*\) .*/\1/p" \
    fp32.whole.log)
  evaluated=$(sed -n 's/^  loss *//p' eval.log)
  awk "BEGIN { d = $validated - $evaluated; exit !(d < 1e-4 && d > -1e-4) }" ||
    fail "validation has a loss of $validated, gfeval $evaluated"
fi

# A checkpoint whose residuals are damaged is passed over for the one before it, with the same end.
cp -r fp32.whole damaged
truncate -s -5 "damaged/$last/residual-0000$((ranks - 1)).safetensors"
train --set checkpoint.dir=damaged --resume "${sparse[@]}" >damaged.log 2>&1 || fail "damaged"
grep -q "$last is passed over.*residual-0000$((ranks - 1)).*incomplete" damaged.log ||
  fail "does not say what is damaged"
grep -q "resuming from damaged/$second" damaged.log || fail "does not take the one before"
same_weights "fp32.whole/$last" "damaged/$last"

# Other worlds and modes go on, and say what becomes of the residuals.
resume() {
  local on=$1 pattern=$2 folder=$3
  shift 3
  cp -r fp32.stopped "$folder"
  rm -r "${folder:?}/$second" "${folder:?}/$last"
  on_ranks "$on" "$gftrain" --config=job.prototxt --set comm.timeout_s=60 --resume \
    --max_steps=$((stop + 13)) --set checkpoint.dir="$folder" "$@" >"$folder.log" 2>&1 ||
    fail "$folder"
  grep -q "$pattern" "$folder.log" || fail "$folder: no \"$pattern\""
  [ -d "$folder/$(name_of $((stop + 13)))" ] || fail "$folder: does not go on"
}
resume 2 "begins with the mean of the residuals of" world "${sparse[@]}"
resume "$ranks" "residuals .* are lost" lazy
echo PASS
