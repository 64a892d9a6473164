#!/bin/bash
# lost_rank_test.sh BINARY MPI_TEST.SH MODE: one of three ranks is killed (SIGKILL) or stopped
# (SIGSTOP) in every phase of a step. Each time the others end soon after the deadline with exit
# code 3, and say which rank is missing and what they wait for.
set -uo pipefail
root=$PWD mpi=$2 mode=$3
cd "$TEST_TMPDIR" || exit 1
ln -s "$root/$1" lost_rank_job
job=$PWD/lost_rank_job # no other test's processes have this name

# MOMENT|COLLECTIVE: where a rank dies, see lost_rank_job, in the step or round $at; |COLLECTIVE:
# what the others wait for then, if it is another one. Collectives without step are of $at.
first='fc2.weight' second='fc2.bias to fc1.weight' last='fc1.bias' whole='biases and the like'
right='right factors of all weights'
# When, and what follows.
at='step 3' next='step 4'
case $mode in
  LAZY | error_feedback)
    cases=("before|$first" "before|$second" "before|$last" "after|$last|$first, $next")
    ;;
  SPARSE)
    cases=("before|chunks of $first" "before|chunks of $second" "before|norms of chunks"
      "after|norms of chunks|chunks of $first, $next")
    ;;
  TOPK)
    cases=("before|the largest of $first" "before|the largest of $second" "before|$whole"
      "after|$whole|the largest of $first, $next")
    ;;
  LOW_RANK)
    cases=("before|left factors of $first" "before|left factors of $second" "before|$whole"
      "before|$right" "after|$right|left factors of $first, $next")
    ;;
  QUANTIZED)
    # An encoded sum is an all-to-all, the sum of each rank's part, and an allgather.
    cases=("before|codes of $first" "inside|codes of $first" "halfway|codes of $first"
      "halfway|codes of $second" "before|$whole" "after|$whole|codes of $first, $next")
    ;;
  PERIODIC)
    # At the end of a round of two steps.
    at='round 2' next='round 3'
    cases=("before|$first" "before|$second" "before|$last" "after|$last|$first, $next")
    ;;
  *)
    echo "FAIL: no mode $mode"
    exit 1
    ;;
esac

fail() {
  echo "FAIL: $*"
  exit 1
}

# mpirun ends the others as soon as it sees a rank die. Here it sees a shell that goes on, as it
# sees nothing of a rank whose whole host is lost.
cat >unseen.sh <<'UNSEEN'
victim=$1
shift
[ "$OMPI_COMM_WORLD_RANK" = "$victim" ] || exec "$@"
"$@"
exec sleep 60
UNSEEN

# one_case NAME VICTIM SIGNAL MOMENT COLLECTIVE AWAITED
one_case() {
  local name=$1 victim=$2 signal=$3 awaited=$6 code rank start=$SECONDS command=("$job")
  local what="SIG$signal of rank $victim $4 $5"
  # Open MPI's folders: those of jobs that begin and end at the same time get into each other's way.
  export TEST_TMPDIR # of bazel/mpirun.sh
  TEST_TMPDIR=$(mktemp -d /tmp/lost_rank.XXXXXX)
  trap 'rm -rf "$TEST_TMPDIR"' EXIT
  [ "$signal" = KILL ] && command=(sh "$PWD/unseen.sh" "$victim" "$job")
  (cd "$root" && exec timeout 60 "$mpi" 3 "${command[@]}" "$mode" "$victim" "$4" "$5" \
    "$(kill -l "$signal")") >"$name.log" 2>&1
  code=$?
  echo "$what: exit code $code after $((SECONDS - start)) s"
  cat "$name.log"
  # Open MPI 4.1's mpirun itself may crash at its very end, after it has reported the code.
  if [ "$code" = 139 ] && grep -q 'PMIx_server_finalize' "$name.log"; then
    code=$(sed -n 's/^ *Exit code: *//p' "$name.log")
  fi
  [ "$code" = 3 ] || fail "$what: exit code $code"
  grep -qE "waited [0-9.]+ s in [a-z -]+ of $awaited; missing: rank $victim \(" "$name.log" ||
    fail "$what: no message names it, and what the others wait for"
  for rank in 0 1 2; do
    [ "$rank" = "$victim" ] ||
      grep -qE "communication error: rank $rank \(host .*missing: rank $victim \(" "$name.log" ||
      fail "$what: rank $rank does not name it"
  done
  grep 'missing: ' "$name.log" | grep -qvE "missing: rank $victim \(" &&
    fail "$what: another rank is named"
  return 0
}

number=0 running=0 failed=0
for entry in "${cases[@]}"; do
  IFS='|' read -r moment collective awaited <<<"$entry"
  collective="$collective, $at"
  for signal in KILL STOP; do
    victim=$((number % 3)) number=$((number + 1))
    (one_case "case$number" "$victim" "$signal" "$moment" "$collective" "${awaited:-$collective}") \
      >"report$number" 2>&1 &
    running=$((running + 1))
    if [ $running = 6 ]; then
      wait -n || failed=1
      running=$((running - 1))
    fi
  done
done
while [ $running -gt 0 ]; do
  wait -n || failed=1
  running=$((running - 1))
done
cat report*
for _ in $(seq 50); do
  pgrep -f "$job" >/dev/null || break
  sleep 0.1
done
pgrep -af "$job" && fail "processes are left"
[ $failed = 0 ] || fail "see above"
echo "PASS: $number cases"
