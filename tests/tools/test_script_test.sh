#!/usr/bin/env bash
# What tools/test installs and prints, with a made-up Bazel.
set -euo pipefail
tree=$TEST_TMPDIR/tree bin=$TEST_TMPDIR/bin
mkdir -p "$tree/tools" "$bin"
cp -L tools/test tools/test_summary.py "$tree/tools/"
export PATH=$bin:/usr/bin:/bin
unset GF_DATA_DIR
fail() { echo "FAILED: $*" && exit 1; }

script() { # PATH BODY
  printf '#!/bin/bash\n%s\n' "$2" > "$1"
  chmod +x "$1"
}
script "$tree/tools/install_deps" 'echo "installs [$*]"; [[ $* != *"$FAILS"* ]]'
# shellcheck disable=SC2016
script "$bin/bazel" 'case $1 in
  query) echo "$*" >> "$TEST_TMPDIR/queries"; echo "$USERS_OF_TORCH" ;;
  test) echo "There were tests whose specified size is too big. Use the --test_verbose_timeout_"
        echo "a line of bazel"; exit "$CODE" ;;
esac'
export FAILS=nothing USERS_OF_TORCH='' CODE=4

# output ARGUMENTS...: of tools/test
output() { "$tree/tools/test" "$@" 2>&1 || true; }

text=$(output //tests/core/... //tests/data:x)
grep -qF 'rdeps(set(//tests/core/... //tests/data:x), //tests/golden:with_modules.sh)' \
  "$TEST_TMPDIR/queries" || fail "the query: $(cat "$TEST_TMPDIR/queries")"
[[ $text == *"installs []"* ]] || fail "nothing was installed: $text"
[[ $text != *with-peers* ]] || fail "PyTorch is installed for tests that do not use it: $text"
[[ $text == *"a line of bazel"* && $text != *"too big"* ]] || fail "bazel's lines: $text"
[[ $(tail -n 1 <<< "$text") == "0 passed, 0 failed, 0 skipped" ]] || fail "the summary: $text"

USERS_OF_TORCH=//tests/models:golden_test
text=$(output //tests/models/...)
[[ $text == *"installs [--with-peers]"* ]] || fail "no PyTorch: $text"
FAILS=with-peers
text=$(output //tests/models/...)
[[ $text == *"goes on without PyTorch and OpenCV"*"a line of bazel"* ]] ||
  fail "PyTorch is needed: $text"

# Bazel's exit code counts.
CODE=1
[[ $(output //tests/core/... | tail -n 1) == "0 passed, 1 failed, 0 skipped" ]] ||
  fail "bazel's exit code is lost"
echo passed
