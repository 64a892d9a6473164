#!/usr/bin/env bash
# The public Caffe networks in GF_DATA_DIR/caffe-nets build, unchanged, but for those named below;
# each refusal names the place and what is missing.
set -uo pipefail
gftrain=tools/gftrain
nets=${GF_DATA_DIR-}/caffe-nets
if [[ ! -d $nets ]]; then
  echo "SKIPPED: GF_DATA_DIR is not set or has no caffe-nets"
  exit 0
fi

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

# Why a network is refused, by its file's name.
declare -A refused=(
  [BVLC+caffe__examples__siamese__mnist_siamese_train_test]='parameters shared by name'
  [intel+caffe__examples__siamese__mnist_siamese_train_test]='parameters shared by name'
)

# For data layers that do not state the size of images.
size_of() {
  case $1 in
    *cifar*) echo 3x32x32 ;;
    *siamese*) echo 2x28x28 ;;
    *mnist*) echo 1x28x28 ;;
    *) echo 3x224x224 ;;
  esac
}

count=0 built=0
for file in "$nets"/*.prototxt; do
  name=$(basename "$file" .prototxt)
  command=("$gftrain" --dry_run --batch_size=2 "--net=$file")
  said=$("${command[@]}" 2>&1)
  status=$?
  if [[ $said == *--input* ]]; then
    said=$("${command[@]}" "--input=$(size_of "$name")" 2>&1)
    status=$?
  fi
  count=$((count + 1))
  if [[ $status == 0 ]]; then
    built=$((built + 1))
    [[ -z ${refused[$name]-} ]] || fail "$name builds, but is listed as refused"
    grep -q parameters <<<"$said" || fail "$name: no sum of parameters: $said"
    continue
  fi
  [[ $status == 2 ]] || fail "$name: exit code $status: $said"
  [[ -n ${refused[$name]-} ]] || fail "$name does not build: $said"
  grep -qE "^gftrain: error: $nets/.*prototxt:[0-9]+:[0-9]+: .*${refused[$name]}" <<<"$said" ||
    fail "$name: $said"
done
echo "$built of $count networks build"
[[ $count -gt 0 ]] || fail "no networks in $nets"
