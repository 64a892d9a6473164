#!/usr/bin/env bash
# What tools/try_in refuses, before it changes anything.
set -euo pipefail
bin=$TEST_TMPDIR/bin
mkdir -p "$bin" "$TEST_TMPDIR/full"
touch "$TEST_TMPDIR/full/file"
fail() { echo "FAILED: $*" && exit 1; }

fake() { # NAME BODY
  printf '#!/bin/bash\n%s\n' "$2" > "$bin/$1"
  chmod +x "$bin/$1"
}
# expect CODE WORDS ARGUMENTS...
expect() {
  local code=$1 words=$2 got=0 output
  shift 2
  output=$(PATH=$bin:/usr/bin:/bin tools/try_in "$@" 2>&1 < /dev/null) || got=$?
  [[ $got == "$code" ]] || fail "try_in $*: exit code $got, expected $code: $output"
  [[ $output == *"$words"* ]] || fail "try_in $*: no \"$words\" in: $output"
}

fake id 'echo 0'
fake debootstrap 'echo "debootstrap was called: $*"; exit 9'
fake unshare 'while [[ $1 == --* ]]; do shift; done; exec "$@"' # the rest, without name spaces
fake mount 'echo "mount was called: $*"; exit 9'
expect 0 "tools/try_in trixie" --help
expect 2 "no suite: tools/try_in [OPTIONS] bookworm|trixie"
expect 2 "unknown suite \"sarge\"" sarge
expect 2 "unknown option --sys" --sys trixie
expect 2 "unknown option --dir=" --dir= trixie
expect 2 "$TEST_TMPDIR/full holds something else" --fresh "--dir=$TEST_TMPDIR/full" trixie
[[ -e $TEST_TMPDIR/full/file ]] || fail "--fresh removed what it did not make"

fake flock 'exit 1'
expect 1 "another tools/try_in runs in $TEST_TMPDIR/busy" "--dir=$TEST_TMPDIR/busy" trixie

fake apt-get 'exit 0'
fake flock 'exit 0'
expect 1 "this machine's apt has no mirror of Debian" "--dir=$TEST_TMPDIR/new" bookworm true

fake id 'echo 1000'
expect 2 "needs root" trixie
echo passed
