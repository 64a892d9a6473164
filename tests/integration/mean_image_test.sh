#!/usr/bin/env bash
# Jobs with mean images: one of a single value trains as that mean does, bit for bit; paths, ranks
# and evaluation.
. tests/integration/lib.sh
make_job

# 3 x 32 x 32 values of 128 as a BlobProto.
python3 - <<'PY' || fail "writing a mean image"
import struct
data = struct.pack("<f", 128) * (3 * 32 * 32)
size = len(data)
assert 1 << 7 <= size < 1 << 14
with open("flat.binaryproto", "wb") as file:
    file.write(bytes([8, 1, 16, 3, 24, 32, 32, 32, 42, size & 127 | 128, size >> 7]) + data)
PY
"$gfdata" stats 'data/train-*.tar' --mean_file=mean.binaryproto >stats.log 2>&1 ||
  fail "gfdata stats"
for name in flat mean; do
  sed "s/mean: 128/mean_file: \"$name.binaryproto\"/" job.prototxt >$name.prototxt
done

train() { # NAME CONFIG ARGUMENTS...
  local name=$1 config=$2
  shift 2
  on_ranks 2 "$gftrain" --config="$config" --max_steps=60 --deterministic --set threads=1 \
    --set checkpoint.dir="$name" --set telemetry.jsonl="$name.jsonl" "$@" >"$name.log" 2>&1 ||
    fail "training: $name"
}
evaluate() { # NAME CONFIG
  "$gfeval" --config="$2" --checkpoint="$1/step-00000060" --json="$1.json" >"$1.eval.log" 2>&1 ||
    fail "evaluation: $1"
}

train plain job.prototxt
train flat flat.prototxt
cmp flat/step-00000060/mean.binaryproto flat.binaryproto || fail "no mean image in the checkpoint"
for file in weights optimizer; do
  cmp plain/step-00000060/$file.safetensors flat/step-00000060/$file.safetensors ||
    fail "$file differs"
done
evaluate plain job.prototxt
evaluate flat flat.prototxt
python3 - <<'PY' || fail "other results of the evaluation"
import json
plain, flat = (json.load(open(name + ".json")) for name in ("plain", "flat"))
assert plain["images"] == flat["images"] == 60
assert all(plain[key] == flat[key] for key in ("top1", "top5", "loss", "classes")), (plain, flat)
PY

# Another mean gives other weights; the config of the run folder works from anywhere.
train mean mean.prototxt --run_dir=run_of_mean
cmp -s {plain,mean}/step-00000060/weights.safetensors && fail "the mean image changes nothing"
mkdir elsewhere
(cd elsewhere && train again ../run_of_mean/config.prototxt) || exit 1
same_weights mean/step-00000060 elsewhere/again/step-00000060

# Ranks whose files differ.
for rank in 0 1; do
  mkdir rank$rank
  cp net.prototxt flat.prototxt rank$rank
  ln -s ../data rank$rank/data
done
cp flat.binaryproto rank0/flat.binaryproto
cp mean.binaryproto rank1/flat.binaryproto
expect_error 'the values in train_data.mean_file' "$mpirun" -np 2 sh -c \
  'cd "rank$OMPI_COMM_WORLD_RANK" && exec "$0" --config=flat.prototxt --set threads=1' "$gftrain"

expect_error 'data/train-.*mean_file: mean.binaryproto has 32x32 .*has 40x40 .*resize_height: 32' \
  "$gftrain" --config=mean.prototxt --set train_data.resize_shorter=40
expect_error 'train_data.mean does not go with mean_file' \
  "$gftrain" --config=mean.prototxt --set train_data.mean=3
echo PASS
