#!/usr/bin/env bash
# The generated networks in models/ are what the generator prints. $1: the generator.
set -uo pipefail
names=$("$1" --list) || exit 1
[ -n "$names" ] || { echo "the generator lists no networks"; exit 1; }
failed=0
for name in $names; do
  if ! "$1" "$name" | diff -u "models/$name.prototxt" - | head -20; then
    echo "models/$name.prototxt is not current: bazel run //models/generate:update"
    failed=1
  fi
done
exit $failed
