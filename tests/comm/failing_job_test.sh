#!/bin/bash
# failing_job_test.sh BINARY MPI_TEST.SH HOW: the job ends soon, with the right exit code and a
# message that says why.
set -uo pipefail
binary=$1 mpi=$2 how=$3
log=$TEST_TMPDIR/log
start=$(date +%s)
timeout 50 "$mpi" 3 "$binary" "$how" >"$log" 2>&1
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
case $how in
  sleeps | stopped)
    [ "$code" -eq 3 ] || fail "exit code"
    expect 'rank [01] \(host .*\) waited [0-9.]+ s in allreduce of fc6.weight, step 12; missing: rank 2 \(host '
    ;;
  elsewhere)
    [ "$code" -eq 3 ] || fail "exit code"
    expect 'rank [01] .* waited .*; rank 2 \(host .*\) waits in barrier: the validation of step 11'
    ;;
  leaves)
    [ "$code" -eq 2 ] || fail "exit code"
    expect 'error: shard-3.tar: not found'
    ;;
  killed) [ "$code" -ne 0 ] || fail "exit code" ;;
  abort) [ "$code" -eq 9 ] || fail "exit code" ;;
  disagree)
    [ "$code" -eq 2 ] || fail "exit code"
    expect 'ranks disagree on solver.base_lr: 0.1 on ranks 0, 1 \(host .*\), 0.2 on rank 2'
    ;;
  *) fail "unknown case $how" ;;
esac
