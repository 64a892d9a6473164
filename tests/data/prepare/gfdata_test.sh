#!/usr/bin/env bash
# The program itself: usage, exit codes, a round trip.
set -u
gfdata=$1
work=$TEST_TMPDIR/gfdata
mkdir -p "$work"
fail() { echo "FAILED: $*"; exit 1; }

# expect CODE WORDS ARGUMENTS...: exit code and a part of what is printed.
expect() {
  local code=$1 words=$2
  shift 2
  local output
  output=$("$gfdata" "$@" 2>&1)
  local got=$?
  [ "$got" = "$code" ] || fail "gfdata $*: exit code $got, expected $code: $output"
  grep -qF -- "$words" <<<"$output" || fail "gfdata $*: no \"$words\" in: $output"
}

expect 2 "Usage:"
expect 0 "Usage:" --help
expect 0 "Usage:" help
expect 0 "gfdata convert --from=SOURCE" convert --help
expect 2 "unknown flag --shard; did you mean --shards?" convert --shard=3
expect 2 "unknown flag --shards" draw --shards=3
expect 2 "is not a flag" draw shapes
expect 2 "the command is missing" --out=x
expect 0 "GradientFlow" --version
expect 0 "GradientFlow" draw --version
expect 2 "unknown command \"paint\"" paint
expect 2 "--from is missing" convert --to="$work/x"
expect 2 "no such file" info "$work/nothing"
expect 0 "30 training and 6 validation images" draw --out="$work/drawn" --images=30
expect 2 "is not empty" draw --out="$work/drawn" --images=30
expect 0 "30 images" convert --from="$work/drawn/train-*.tar" --to="$work/folder" --format=folder
expect 0 "FOLDER, 30 images, 10 classes" info "$work/folder"
expect 0 "decoded                        30" verify "$work/drawn/train-*.tar"
expect 0 "mean: 1" stats "$work/drawn/train-*.tar"
cp "$work"/drawn/train-000000.idx "$work/saved.idx"
rm "$work"/drawn/train-*.idx
expect 0 "30 images in" index "$work/drawn/train-*.tar"
cmp "$work/drawn/train-000000.idx" "$work/saved.idx" || fail "another index than the writer's"
expect 2 "no such file" index "$work/nothing"
echo 'drawn/classes.txt 0' >"$work/list.txt"
expect 2 "list.txt has the format LIST, but only shards of the format TAR" index "$work/list.txt"
echo '***' >"$work/neither"
expect 2 "neither has the format unknown, but only shards" index "$work/neither"
cp "$work"/drawn/train-000000.tar "$work/without_ending"
expect 0 "images in 1 shards" index "$work/without_ending"
expect 0 "30 images" convert --from="$work/drawn/train-*.tar" --to="$work/small" --resize=20
expect 0 "height     20 to 20" info "$work/small"
expect 0 "30 images" convert --from="$work/drawn/train-*.tar" --to="$work/both" --resize=20x24
expect 0 "height     20 to 20" info "$work/both"
expect 0 "width      24 to 24" info "$work/both"
for size in -1 65501 x20 20x 20x0 20x20x20 20X20 99999x99999 60000x60000; do
  expect 2 "--resize=$size: " convert --from="$work/folder" --to="$work/x" --resize="$size"
done
expect 0 "mean image of 3x20x24 (channels x height x width) written to $work/mean" \
  stats "$work/both" --mean_file="$work/mean"
[ "$(stat -c %s "$work/mean")" -gt $((4 * 3 * 20 * 24)) ] || fail "a short mean image"
expect 2 "a mean image needs images of one size" \
  stats "$work/*/*.tar" --mean_file="$work/no_mean"
[ -e "$work/no_mean" ] && fail "a mean image of several sizes"
expect 2 "--mean_file=$work/none/mean: $work/none is not a folder" \
  stats "$work/both" --mean_file="$work/none/mean"
cat >"$work/job.prototxt" <<'JOB'
net: "net.prototxt"
train_data { source: "drawn/train-*.tar" mean: 128 std: 64 }
solver { base_lr: 1 max_steps: 1 }
JOB
whiten=(whiten --config="$work/job.prototxt" --name=conv.weight)
expect 0 "only 30 images could be measured, expected 5,000" "${whiten[@]}" --out="$work/white"
expect 0 "28,830 patches of 30 images" "${whiten[@]}" --out="$work/again" --images=30
cmp "$work/white" "$work/again" || fail "other filters of the same images"
expect 0 "filters of 54x3x3x3 (outputs x channels x height x width) written to $work/three as" \
  "${whiten[@]}" --out="$work/three" --kernel=3 --eps=0.001 --images=10
[ "$(stat -c %s "$work/three")" -gt $((4 * 54 * 27)) ] || fail "short filters"
expect 0 "6,750 patches of 30 images" \
  "${whiten[@]}" --out="$work/crops" --images=30 --set train_data.crop_size=16
expect 0 "6,750 patches of 30 images" "${whiten[@]}" --out="$work/phases" --images=30 \
  --set train_data.crop_size=16 --set train_data.random_resized_crop=true \
  --set 'train_data.size_phase[0].epoch=1' --set 'train_data.size_phase[0].crop_size=24'
expect 2 "--set train_data.crop_size=-1" \
  "${whiten[@]}" --out="$work/x" --set train_data.crop_size=-1
expect 2 "--config is missing" whiten --name=conv.weight --out="$work/x"
expect 2 "--name is missing" whiten --config="$work/job.prototxt" --out="$work/x"
expect 2 "--out is missing" "${whiten[@]}"
expect 2 "$work/none.prototxt" whiten --config="$work/none.prototxt" --name=w --out="$work/x"
expect 2 "--out=$work/none/white: $work/none is not a folder" \
  "${whiten[@]}" --out="$work/none/white"
expect 2 "--kernel: 33 is larger than the images, 32x32" "${whiten[@]}" --out="$work/x" --kernel=33
expect 2 "--images: -1, expected at least 1" "${whiten[@]}" --out="$work/x" --images=-1
expect 2 "--eps: 0, expected a number greater than 0" "${whiten[@]}" --out="$work/x" --eps=0
expect 2 "--name holds" whiten --config="$work/job.prototxt" --name='a b' --out="$work/x"
[ -e "$work/x" ] && fail "a file of filters after a mistake"
head -c 30000 "$work/drawn/train-000000.tar" > "$work/cut.tar"
expect 2 "not in the index                1" verify "$work/cut.tar"
expect 2 "give --train=" imagenet --out="$work/x"
expect 2 "gfdata stats SOURCE" stats
expect 2 "2 sources, expected 1" stats a b
expect 0 "30 images" convert --from="$work/drawn/train-*.tar" --to="$work/lmdb" --format=lmdb
expect 0 "LMDB, 30 images, 10 classes" info "$work/lmdb"
expect 2 "is not empty" convert --from="$work/folder" --to="$work/lmdb" --format=lmdb
# All pages but the two headers.
bytes=$(($(stat -c %s "$work/lmdb/data.mdb") - 8192))
head -c "$bytes" /dev/urandom >"$work/random"
head -c "$bytes" /dev/zero | tr '\0' '\377' >"$work/ones"
for damage in random ones; do
  { head -c 8192 "$work/lmdb/data.mdb" && cat "$work/$damage"; } >"$work/bad.mdb"
  expect 2 "bad.mdb:" info "$work/bad.mdb"
done
head -c 2048 /dev/zero > "$work/zeros.tar"
expect 2 "0 images" index "$work/zeros.tar"
expect 2 "0 images" info "$work/zeros.tar"
expect 2 "known: FOLDER, IDX, LMDB, TAR" convert --from="$work/folder" --to="$work/x" --format=zip
expect 2 "cannot create the folder" draw --out=/proc/nowhere/x --images=30
# A signal that ends the program leaves no unfinished folder behind.
expect 0 "20000 training" draw --out="$work/many" --images=20000 --size=16
for signal in INT TERM HUP; do
  long=(draw --out="$work/endless" --images=1000000)
  [ $signal = TERM ] &&
    long=(convert --from="$work/many/train-*.tar" --to="$work/endless" --resize=4000)
  (trap - INT && exec "$gfdata" "${long[@]}") &
  until [ -n "$(find "$work/endless.tmp-$!" -name '*.tar' -size +0 2>/dev/null)" ]; do
    kill -0 $! || fail "gfdata draw ended by itself"
    sleep 0.05
  done
  kill -s "$signal" $!
  wait $!
  got=$?
  [ "$got" = $((128 + $(kill -l "$signal"))) ] || fail "SIG$signal: exit code $got"
  left=$(ls -d "$work"/endless* 2>/dev/null)
  [ -z "$left" ] || fail "SIG$signal leaves $left"
done
echo passed
