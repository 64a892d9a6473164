#!/usr/bin/env bash
# tools/install_deps with a made-up package system.
set -euo pipefail
bin=$TEST_TMPDIR/bin
mkdir -p "$bin"
export PATH=$bin:/usr/bin:/bin
fail() { echo "FAILED: $*" && exit 1; }

fake() { # NAME BODY
  printf '#!/bin/bash\n%s\n' "$2" > "$bin/$1"
  chmod +x "$bin/$1"
}
# expect CODE WORDS ARGUMENTS...
expect() {
  local code=$1 words=$2 got=0 output
  shift 2
  output=$(tools/install_deps "$@" 2>&1 < /dev/null) || got=$?
  [[ $got == "$code" ]] || fail "install_deps $*: exit code $got, expected $code: $output"
  [[ $output == *"$words"* ]] || fail "install_deps $*: no \"$words\" in: $output"
}

fake dpkg 'echo amd64'
fake dpkg-query 'echo installed'
fake apt-get 'echo "apt-get was called: $*"; exit 9'
fake id 'echo 0'
expect 0 "packages are there"
expect 2 "unknown argument \"--peers\"" --peers

# One package is missing: it alone is installed.
fake dpkg-query '[[ $* == *libpng-dev* ]] && echo not-installed || echo installed'
fake apt-get 'exit 0'
expect 0 "packages: libpng-dev"
fake apt-get '[[ $* != *install* ]]'
expect 1 "could not install"

# An ordinary user whose sudo wants a password is told what to run.
fake id 'echo 1000'
fake sudo 'exit 1'
expect 1 "apt-get install --no-install-recommends libpng-dev"

# Bazel needs a folder for its files.
file=$TEST_TMPDIR/file
touch "$file"
(export TEST_TMPDIR=$file && expect 1 "Bazel keeps its files in $file, which cannot be written")
(unset TEST_TMPDIR && HOME=/proc expect 1 "in /proc/.cache, which cannot be written: set HOME")

fake dpkg 'echo arm64'
expect 2 "only amd64"
echo passed
