#!/usr/bin/env bash
# Images kept on the device change nothing, on one rank and on several, nor does a restart.
. tests/integration/lib.sh
make_job
job=("$gftrain" --config=job.prototxt --max_steps=60 --deterministic --set threads=1
  --set train_data.pad=2 --set telemetry.display_interval=1)

# losses NAME RANKS ARGUMENTS...
losses() {
  local name=$1 ranks=$2
  shift 2
  on_ranks "$ranks" "${job[@]}" --set telemetry.jsonl="$name.jsonl" --set checkpoint.dir="$name" \
    "$@" >"$name.log" 2>&1 || fail "$name"
  grep '"loss"' "$name.jsonl" | grep -v top1 | sed -E 's/.*("loss": ?[0-9.e+-]+).*/\1/' >"$name.txt"
  [ "$(wc -l <"$name.txt")" = 60 ] || fail "$name: $(wc -l <"$name.txt") losses"
}

for ranks in 1 2; do
  for share in 1 0.5; do
    name=$ranks-$share
    losses "plain$name" "$ranks" --set train_data.exchange="$share"
    losses "kept$name" "$ranks" --set train_data.exchange="$share" \
      --set train_data.device_cache_mib=1
    cmp "plain$name.txt" "kept$name.txt" || fail "losses of $name differ"
    grep -q 'images kept on the device *up to 300 per rank' "kept$name.log" ||
      fail "the table does not say what is kept"
  done
done

on_ranks 2 "${job[@]}" --max_steps=25 --set checkpoint.dir=parts \
  --set train_data.device_cache_mib=1 >first.log 2>&1 || fail "first part"
on_ranks 2 "${job[@]}" --resume --set checkpoint.dir=parts \
  --set train_data.device_cache_mib=1 >second.log 2>&1 || fail "second part"
same_weights parts/step-00000060 plain2-1/step-00000060

expect_error 'validation_data.*device_cache_mib' "${job[@]}" \
  --set validation_data.device_cache_mib=1
expect_error 'device_cache_mib does not go with random_resized_crop' "${job[@]}" \
  --set train_data.device_cache_mib=1 --set train_data.random_crop=false --set train_data.pad=0 \
  --set train_data.random_resized_crop=true
echo PASS
