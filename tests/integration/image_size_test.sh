#!/usr/bin/env bash
# train_data.size_phase: images of another size from given epochs on, on one rank and on two.
. tests/integration/lib.sh
make_job
cp net.prototxt flat.prototxt
# Any size goes: the classifier sees means.
sed -i 's/^\(layer { name: "ip1".*\)bottom: "conv1"/layer { name: "pool" type: "Pooling" \
bottom: "conv1" top: "pool" pooling_param { pool: AVE global_pooling: true } }\
\1bottom: "pool"/' net.prototxt
cat >>job.prototxt <<'JOB'
input { }
JOB
phases=(--set train_data.crop_size=20
  --set 'train_data.size_phase[0].epoch=1' --set 'train_data.size_phase[0].crop_size=24'
  --set 'train_data.size_phase[1].epoch=2' --set 'train_data.size_phase[1].crop_size=28')

# train RANKS NAME STEPS OPTIONS...: an epoch has 30 / RANKS steps; validation on whole images.
train() {
  local ranks=$1 name=$2 steps=$3
  shift 3
  on_ranks "$ranks" "$gftrain" --config=job.prototxt --deterministic --max_steps="$steps" \
    --set checkpoint.dir="$name" --set checkpoint.interval_steps=15 --set checkpoint.keep=0 \
    --set validation_data.crop_size=32 --set threads=1 "$@" >"$name.log" 2>&1 || fail "$name"
}

for ranks in 1 2; do
  first=$((30 / ranks)) second=$((60 / ranks)) last=$((90 / ranks))
  step() { printf 'step-%08d' "$1"; }
  train "$ranks" "whole$ranks" "$last" "${phases[@]}"
  for line in "images of 24x24 (height x width) from step $((first + 1)) on" \
    "images of 28x28 (height x width) from step $((second + 1)) on"; do
    [ "$(grep -c -F "$line" "whole$ranks.log")" = 1 ] || fail "no \"$line\""
  done
  # Each phase trains as a job whose images always have its size.
  train "$ranks" "parts$ranks" "$first" --set train_data.crop_size=20
  same_weights "parts$ranks/$(step "$first")" "whole$ranks/$(step "$first")"
  train "$ranks" "parts$ranks" "$second" --resume --set train_data.crop_size=24
  same_weights "parts$ranks/$(step "$second")" "whole$ranks/$(step "$second")"
  train "$ranks" "parts$ranks" "$last" --resume --set train_data.crop_size=28
  same_weights "parts$ranks/$(step "$last")" "whole$ranks/$(step "$last")"
  # Stopped within a phase, and at the start of one.
  train "$ranks" "resumed$ranks" "$((first + 7))" "${phases[@]}"
  train "$ranks" "resumed$ranks" "$second" --resume "${phases[@]}"
  grep -q 'images of 24x24' "resumed$ranks.log" || fail "the size of a resumed phase"
  train "$ranks" "resumed$ranks" "$last" --resume "${phases[@]}"
  same_weights "resumed$ranks/$(step "$last")" "whole$ranks/$(step "$last")"
done

# Batches that are accumulated, and with graphs of buckets.
train 2 lazy 45 "${phases[@]}" --set comm.mode=LAZY --set comm.threshold_first=1000 \
  --set solver.iter_size=2

"$gftrain" --config=job.prototxt "${phases[@]}" --dry_run >dry.log 2>&1 || fail "dry run"
for dry in "" --dry_run; do
  expect_error 'train_data.size_phase.*ip1.weight.*' "$gftrain" --config=job.prototxt $dry \
    --set net=flat.prototxt --set checkpoint.dir=flat --set validation_data.crop_size=20 \
    "${phases[@]}"
done
expect_error 'train-0*.tar.*: in size_phase\[1\], crop_size: 40 is larger than the image, 32x32' \
  "$gftrain" --config=job.prototxt --set checkpoint.dir=flat \
  --set 'train_data.size_phase[0].epoch=1' --set 'train_data.size_phase[0].crop_size=24' \
  --set 'train_data.size_phase[1].epoch=2' --set 'train_data.size_phase[1].crop_size=40'
expect_error 'size_phase\[1\].epoch is 1, must be greater than .*the phase before \(2\)' \
  "$gftrain" --config=job.prototxt --set checkpoint.dir=flat \
  --set 'train_data.size_phase[0].epoch=2' --set 'train_data.size_phase[0].crop_size=24' \
  --set 'train_data.size_phase[1].epoch=1' --set 'train_data.size_phase[1].crop_size=28'
expect_error 'validation_data.size_phase only applies to training' "$gftrain" \
  --config=job.prototxt --set 'validation_data.size_phase[0].epoch=2' \
  --set 'validation_data.size_phase[0].crop_size=24'
echo PASS
