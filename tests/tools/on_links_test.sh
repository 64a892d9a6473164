#!/usr/bin/env bash
# on_links gives each rank a host, leaves nothing behind, and names what it cannot do. Hosts need
# root and namespaces, which a sandbox does not have: there only mistakes are tested.
set -uo pipefail
on_links=tools/gfbench/on_links
out=${TEST_TMPDIR:-/tmp}
PATH=$PATH:/usr/sbin:/sbin

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

refused() { # PATTERN ARGUMENTS...
  local pattern=$1
  shift
  "$on_links" "$@" > "$out/refused.txt" 2>&1
  [ $? = 2 ] || fail "not exit code 2: $*"
  grep -q -- "$pattern" "$out/refused.txt" || fail "no \"$pattern\": $*"
}
refused 'on_links HOSTS RATE LATENCY COMMAND' 2 1gbit 0
refused 'HOSTS is 1, must be 2 to 250' 1 1gbit 0 true
refused 'HOSTS is many' many 1gbit 0 true
refused 'RATE is 125, expected for example 200mbit' 2 125 0 true
refused 'LATENCY is 3, expected 0 or 100us' 2 1gbit 3 true

"$on_links" 2 100mbit 0 sh -c 'hostname; echo $OMPI_COMM_WORLD_SIZE' > "$out/run.txt" 2>&1
status=$?
refusal='on_links: error: |Operation not permitted|Permission denied|Read-only'
if [ $status != 0 ] && grep -qE "$refusal" "$out/run.txt"; then
  echo "SKIPPED: no hosts here: $(head -n 1 "$out/run.txt")"
  exit 0
fi
[ $status = 0 ] || fail "on_links: $(cat "$out/run.txt")"
[ "$(grep -cE '^gflinks[0-9]+-[12]$' "$out/run.txt")" = 2 ] || fail "not two hosts"
[ "$(grep -c '^2$' "$out/run.txt")" = 2 ] || fail "not two ranks"
"$on_links" 2 100mbit 0 printf '<%s>' $'two\nlines' "it's" > "$out/words.txt" 2>&1
grep -qF "lines><it's>" "$out/words.txt" && grep -qF '<two' "$out/words.txt" ||
  fail "arguments change: $(cat "$out/words.txt")"
run=$(grep -oE '^gflinks[0-9]+' "$out/run.txt" | head -n 1)
ip netns list | grep -q "$run" && fail "namespaces are left"
compgen -G "/etc/netns/$run*" > /dev/null && fail "files are left"
"$on_links" 2 100mbit 0 sh -c 'exit 7' > "$out/run.txt" 2>&1
[ $? = 7 ] || fail "not the status of mpirun"
echo PASS
