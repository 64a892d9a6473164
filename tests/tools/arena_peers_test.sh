#!/usr/bin/env bash
# A peer of gfbench arena that hangs or fails ends the run, and no end of gfbench leaves processes
# of a peer behind.
set -uo pipefail
gfbench=tools/gfbench/gfbench
out=${TEST_TMPDIR:-/tmp}
arena=(arena --net=models/lenet.prototxt --batch=1 --rounds=1 --steps=1 --warmup=1
  --methods=nothing)
export OMP_WAIT_POLICY=passive

fail() {
  echo "FAIL: $*" >&2
  exit 1
}

# A process that waits for another one; both note their numbers.
cat > "$out/hang.sh" << 'END'
sleep 1000 &
echo "$$ $!" >> "$1"
echo waiting
wait
END

gone() { # COUNT WHAT: COUNT processes are noted, and within some seconds none is alive
  local count=0 number tries
  for number in $(cat "$out/numbers.txt"); do
    count=$((count + 1))
    for ((tries = 0; tries < 100; ++tries)); do
      grep -qs '^State:[[:space:]]*[^ZX]' "/proc/$number/status" || break
      sleep 0.1
    done
    [ $tries -lt 100 ] || fail "$2: process $number lives"
  done
  [ $count = "$1" ] || fail "$2: not $1 processes but $count"
}

noted() { # waits until a peer has noted its numbers
  local tries
  for ((tries = 0; tries < 300; ++tries)); do
    [ -s "$out/numbers.txt" ] && return
    sleep 0.1
  done
  fail "the peer did not start"
}

# One rank hangs, the other one has ended.
rm -f "$out/numbers.txt"
timeout -s KILL 100 bazel/mpirun.sh -n 2 "$gfbench" "${arena[@]}" --peer_timeout_s=2 \
  --peers="slow = test \$RANK = 0 && echo '\"step_ms\": 3' || bash $out/hang.sh $out/numbers.txt" \
  > "$out/slow.txt" 2>&1
[ $? = 2 ] || fail "not exit code 2 after --peer_timeout_s"
[ "$(grep -c 'error: --peers: "slow" still runs after 2 s (--peer_timeout_s; .*on rank 1' \
  "$out/slow.txt")" = 1 ] || fail "no error: $(cat "$out/slow.txt")"
grep -qx waiting "$out/slow.txt" || fail "the peer's own words are lost"
gone 2 "--peer_timeout_s"

# One rank fails while the other one waits for it.
rm -f "$out/numbers.txt"
timeout -s KILL 100 bazel/mpirun.sh -n 2 "$gfbench" "${arena[@]}" \
  --peers="half = test \$RANK = 1 && exit 7 || bash $out/hang.sh $out/numbers.txt" \
  > "$out/half.txt" 2>&1
[ $? = 2 ] || fail "not exit code 2 after one rank's failure"
grep -q 'error: --peers: "half" ended with exit code 7: .*on rank 1' "$out/half.txt" ||
  fail "no error: $(cat "$out/half.txt")"
[ "$(wc -w < "$out/numbers.txt")" = 2 ] && gone 2 "one rank's failure"

# A signal ends gfbench. In a script, commands in the background ignore SIGINT by default.
for signal in TERM INT KILL; do
  rm -f "$out/numbers.txt"
  env --default-signal=INT "$gfbench" "${arena[@]}" \
    --peers="slow = bash $out/hang.sh $out/numbers.txt" > "$out/signal.txt" 2>&1 &
  noted
  kill -s "$signal" $!
  wait $! 2> /dev/null && fail "SIG$signal ends nothing"
  gone 2 "SIG$signal"
done

# What a peer leaves in the background ends with it.
cat > "$out/leave.sh" << 'END'
bash "$1" "$2" > /dev/null 2>&1 &
until [ -s "$2" ]; do sleep 0.1; done
echo '"step_ms": 3'
END
rm -f "$out/numbers.txt"
"$gfbench" "${arena[@]}" --peers="left = bash $out/leave.sh $out/hang.sh $out/numbers.txt" \
  > "$out/table.txt" || fail "a peer with a process in the background"
grep -qE '^left +3.00 ' "$out/table.txt" || fail "no peer in the table"
gone 2 "a process in the background"

# A child that keeps the output open is awaited for a second, and a flood is not kept.
cat > "$out/open.sh" << 'END'
sleep 1000 &
head -c 300000000 /dev/zero
echo
echo '"step_ms": 4'
END
timeout -s KILL 60 "$gfbench" "${arena[@]}" --peer_timeout_s=50 --peers="open = bash $out/open.sh" \
  > "$out/open.txt" || fail "a child that keeps the output open"
grep -qE '^open +4.00 ' "$out/open.txt" || fail "no peer in the table: $(cat "$out/open.txt")"

refused() { # PATTERN FLAGS...
  local pattern=$1
  shift
  "$gfbench" "${arena[@]}" "$@" > "$out/refused.txt" 2>&1
  [ $? = 2 ] || fail "not exit code 2: $*"
  grep -q -- "$pattern" "$out/refused.txt" || fail "no \"$pattern\": $*"
}
refused '--peer_timeout_s is 0, must be more than 0' --peers='a = true' --peer_timeout_s=0
refused '--peer_timeout_s is nan, must be more than 0' --peers='a = true' --peer_timeout_s=nan
refused '--peer_timeout_s goes with --peers' --peer_timeout_s=3
for number in nan 0 -3 1e400 5x; do
  refused "\"a\" printed \"step_ms\": $number, expected the milliseconds of a step" \
    --peers="a = echo '\"step_ms\": $number'"
done
refused '"a" printed no "step_ms", expected the milliseconds' --peers='a = echo some words'
refused '"a" printed nothing, expected the milliseconds' --peers='a = true'
refused '"a" ended with exit code 3: exit 3; it printed nothing' --peers='a = exit 3'
refused '--peers names "a" twice' --peers='a = true; a = true'
refused '"LAZY BF16" is the name of a method, too' --methods='LAZY BF16' --peers='LAZY BF16 = true'
echo PASS
