#!/usr/bin/env bash
# Writes every generated network into the checkout's models/. $1: the generator.
set -euo pipefail
generate=$PWD/$1
models=${BUILD_WORKSPACE_DIRECTORY:?run me by: bazel run //models/generate:update}/models
for name in $("$generate" --list); do
  "$generate" "$name" > "$models/$name.prototxt.new"
  mv "$models/$name.prototxt.new" "$models/$name.prototxt"
  echo "models/$name.prototxt"
done
