#!/usr/bin/env bash
# help_test.sh PROGRAM SOURCE...: --help shows each flag that the sources define, with its text, and
# no line of it is too long. What a program of commands shows is the help of all its commands.
set -uo pipefail
program=$1
shift
fail() {
  echo "FAIL: $*" >&2
  exit 1
}

help=$("$program" --help) || fail "--help: exit code $?"
if grep -q '^Commands:' <<<"$help"; then
  for command in $(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' <<<"$help"); do
    help+=$'\n'$("$program" "$command" --help) || fail "$command --help: exit code $?"
  done
fi
for section in Usage Examples; do
  grep -q "^$section:" <<<"$help" || fail "no $section"
done
[ -z "$(grep -E '.{101}' <<<"$help" | grep -v '^  [a-z]')" ] || fail "a line is too long"
! grep '0000000' <<<"$help" || fail "a default has the digits of rounding"

# A definition may continue on the next line, before the flag's name.
flags=$(cat "$@" | tr '\n' ' ' | grep -oE '\bDEFINE_[a-z0-9]+\( *[a-z0-9_]+' | sed 's/.*( *//')
[ -n "$flags" ] || fail "no flags in the sources"
for flag in $flags; do
  grep -qE "^  --(\[no\])?$flag([= []|$)" <<<"$help" || fail "--help does not show --$flag"
done
echo PASS
