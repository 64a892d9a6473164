#!/usr/bin/env bash
# How the batch is divided does not matter: among ranks whose batch norms share their statistics,
# or into batches that are accumulated.
. tests/integration/lib.sh
make_job
sed -i '/"Dropout"/d' net.prototxt  # which draws for each batch anew
grep -v -E '"(bn1|scale1)"|scale_param|batch_norm_param' net.prototxt >plain.prototxt

# losses NAME RANKS ARGUMENTS...: those of 40 steps, one per line, and the epoch of each.
losses() {
  local name=$1 ranks=$2
  shift 2
  on_ranks "$ranks" "$gftrain" --config=job.prototxt --max_steps=40 --set checkpoint.dir= \
    --set telemetry.display_interval=1 --set telemetry.jsonl="$name.jsonl" --set threads=1 \
    "$@" >"$name.log" 2>&1 || fail "$name"
  grep '"loss"' "$name.jsonl" | grep -v top1 |
    sed -E 's/.*"epoch": ?([0-9.e+-]+).*"loss": ?([0-9.e+-]+).*/\1 \2/' >"$name.txt"
  [ "$(wc -l <"$name.txt")" = 40 ] || fail "$name: $(wc -l <"$name.txt") losses"
}

# same A B: every epoch equal, every loss to 1e-3 of it, the first ones to 1e-5.
same() {
  paste -d ' ' "$1.txt" "$2.txt" | awk '{
    difference = ($2 > $4 ? $2 - $4 : $4 - $2) / $4
    if ($1 != $3 || difference > (NR <= 5 ? 1e-5 : 1e-3)) { print "step " NR ": " $0; exit 1 }
  }' >&2 || fail "$1 and $2 differ"
}

losses one 1 --set train_data.batch_size=12
losses all 2 --set train_data.batch_size=6 --set batch_norm_group=0
same all one
losses four 4 --set train_data.batch_size=3 --set batch_norm_group=4
same four one
# In groups of two the statistics are those of 6 images.
losses pairs 4 --set train_data.batch_size=3 --set batch_norm_group=2
losses two 2 --set train_data.batch_size=6
same pairs two
(same two one 2>/dev/null) && fail "statistics of 6 images are those of 12"

# 24 images per step from epoch 1 on, cut in two ways.
losses large 1 --set net=plain.prototxt --set train_data.batch_size=12 \
  --set 'solver.batch_phase[0].epoch=1' --set 'solver.batch_phase[0].iter_size=2'
losses small 1 --set net=plain.prototxt --set train_data.batch_size=4 --set solver.iter_size=3 \
  --set 'solver.batch_phase[0].epoch=1' --set 'solver.batch_phase[0].iter_size=6'
same small large
[ "$(sed -n '25p;40p' large.txt | cut -d' ' -f1 | paste -s -d' ')" = "1.0 2.2" ] ||
  fail "the batch did not double after epoch 1: $(sed -n '25p;40p' large.txt)"

# First values of parameters, and losses with smoothed labels and with class weights.
losses zero 1 --set 'init[0].pattern=ip2.*' --set 'init[0].filler.type=constant'
awk 'NR == 1 && ($2 < 2.302584 || $2 > 2.302586) { print; exit 1 }' zero.txt >&2 ||
  fail "a classifier of zeros has another first loss than log 10"
losses smooth 1 --set solver.label_smoothing=0.1 --set train_data.batch_size=12
(same smooth one 2>/dev/null) && fail "label_smoothing changes nothing"
losses weighted 1 --set solver.class_weight=3,1,1,1,1,1,1,1,1,1 --set train_data.batch_size=12
(same weighted one 2>/dev/null) && fail "class_weight changes nothing"
echo PASS
