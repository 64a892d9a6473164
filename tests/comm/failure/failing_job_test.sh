#!/bin/bash
# failing_job_test.sh BINARY MPI_TEST.SH HOW: the job ends soon, with the right exit code and a
# message that says why; flight recorders are written where they tell something.
set -uo pipefail
binary=$1 mpi=$2 how=$3
log=$TEST_TMPDIR/log
start=$(date +%s)
timeout 50 "$mpi" 3 "$binary" "$how" "$TEST_TMPDIR/recorder" >"$log" 2>&1
code=$?
seconds=$(($(date +%s) - start))
cat "$log"
echo "exit code $code after $seconds s"

fail() {
  echo "FAIL: $*"
  exit 1
}
expect() { grep -qE -- "$1" "$log" || fail "no such line: $1"; }

# Deadline 2 s, plus starting, and mpirun's ending of the others.
[ "$seconds" -le 20 ] || fail "too late"
# recorders STATE RANKS...: of the last collective.
recorders() {
  local state=$1 rank
  shift
  for rank in "$@"; do
    python3 - "$TEST_TMPDIR/recorder.rank$rank.json" "$rank" "$state" <<'CHECK' || fail "recorder"
import json, sys
path, rank, state = sys.argv[1:]
last_words = json.load(open(path))
last = last_words["collectives"][-1]
assert last_words["rank"] == int(rank) and last_words["reason"], last_words
assert last["label"] == "fc6.weight, step 12" and last["state"] == state, last
assert last["type"] == "FP32" and last["bytes"] % 4 == 0 and last["bytes"] > 0, last
CHECK
    expect "rank $rank .*; see .*/recorder.rank$rank.json"
  done
}
no_recorders() { ls "$TEST_TMPDIR"/recorder.* 2>/dev/null && fail "a recorder for nothing"; }

where='in allreduce of fc6.weight, step 12'
case $how in
  ring)
    [ "$code" -eq 3 ] || fail "exit code"
    expect "rank 0 .*waited [0-9.]+ s $where; .*missing: rank 2 \(host "
    expect "rank 1 .*waited [0-9.]+ s $where; .*missing: rank 2 \(host "
    expect 'stopped on this host: rank 2 \(process '
    grep -E 'missing: ' "$log" | grep -qE 'missing: (rank [01]|.*, rank [01])' && fail "wrong rank"
    recorders failed 0 1
    ;;
  tells)
    [ "$code" -eq 2 ] || fail "exit code"
    expect '^error: shard-3.tar: not found; see .*/recorder.rank2.json'
    expect 'rank 0 .*step 12; rank 2 .* has ended the job: shard-3.tar: not found'
    expect 'rank 1 .*step 12; rank 2 .* has ended the job: shard-3.tar: not found'
    recorders failed 0 1
    ;;
  sleeps | stopped)
    [ "$code" -eq 3 ] || fail "exit code"
    expect "rank [01] \(host .*\) waited [0-9.]+ s $where; missing: rank 2 \(host "
    recorders failed 0 1
    ;;
  elsewhere)
    [ "$code" -eq 3 ] || fail "exit code"
    waits='rank 2 \(host .*\) waits in barrier: the validation of step 11'
    expect "out of step: $waits; ranks 0, 1 wait $where"
    ;;
  leaves)
    [ "$code" -eq 2 ] || fail "exit code"
    expect 'error: shard-3.tar: not found'
    ;;
  killed) [ "$code" -ne 0 ] || fail "exit code" ;;
  abort) [ "$code" -eq 9 ] || fail "exit code" ;;
  lingers)
    no_recorders
    [ "$code" -eq 0 ] || fail "exit code"
    ;;
  disagree)
    [ "$code" -eq 2 ] || fail "exit code"
    no_recorders
    expect 'ranks disagree on solver.base_lr: 0.1 on ranks 0, 1 \(host .*\), 0.2 on rank 2'
    ;;
  *) fail "unknown case $how" ;;
esac
