#!/usr/bin/env bash
# The public Caffe networks in GF_DATA_DIR/caffe-nets build, unchanged.
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

# For data layers that do not state the size of images.
size_of() {
  case $1 in
    *cifar*) echo 3x32x32 ;;
    *siamese*) echo 2x28x28 ;;
    *mnist*) echo 1x28x28 ;;
    *) echo 3x224x224 ;;
  esac
}

count=0
for file in "$nets"/*.prototxt; do
  name=$(basename "$file" .prototxt)
  command=("$gftrain" --dry_run --batch_size=2 "--net=$file")
  said=$("${command[@]}" 2>&1)
  status=$?
  if [[ $said == *--input* ]]; then
    said=$("${command[@]}" "--input=$(size_of "$name")" 2>&1)
    status=$?
  fi
  [[ $status == 0 ]] || fail "$name does not build, exit code $status: $said"
  grep -q parameters <<<"$said" || fail "$name: no sum of parameters: $said"
  count=$((count + 1))
done
echo "$count networks build"
[[ $count -gt 0 ]] || fail "no networks in $nets"
