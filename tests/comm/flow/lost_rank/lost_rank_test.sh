#!/bin/bash
# lost_rank_test.sh BINARY MPI_TEST.SH MODE: one of three ranks is killed (SIGKILL) or stopped
# (SIGSTOP) in every phase of a step. Each time the others end soon after the deadline with exit
# code 3, and say which rank is missing and what they wait for. AUTO_links and AUTO_arithmetic are
# phases of AUTO, the other names with _ are jobs of their own (lost_rank_job).
set -uo pipefail
root=$PWD mpi=$2 mode=$3 job_mode=$3
cd "$TEST_TMPDIR" || exit 1
ln -s "$root/$1" lost_rank_job
job=$PWD/lost_rank_job # no other test's processes have this name

# MOMENT|COLLECTIVE|AWAITED|SINCE|VICTIM: where a rank dies, see lost_rank_job, in the step or round
# $at; what the others wait for then (a pattern), if it is another collective; after which one, of
# several that look alike; which rank, if it matters. Collectives without step are of $at, if set.
first='fc2.weight' second='fc2.bias to fc1.weight' last='fc1.bias' whole='biases and the like'
right='right factors of all weights' times='times of steps'
light='the first steps of comm.mode AUTO'
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
  PERIODIC_LOW_RANK)
    at='round 2' next='round 3'
    cases=("before|left factors of $first" "before|$whole" "before|$right"
      "after|$right|left factors of $first, $next")
    ;;
  PERIODIC_warmup)
    # Three steps that exchange gradients, then rounds of two.
    at=''
    momentum="solver's momentum"
    cases=("before|$momentum|$momentum \(step 1\)||0" "before|$first, step 3"
      "before|$last, step 3" "after|$last, step 3|$first, round 1" "before|$first, round 1")
    ;;
  AUTO)
    # Steps that are noted: the first one, one with overlap, two without; their times; which rungs
    # are tried; the flow of a trial, its first and its last step; the times of trials; which are
    # tried again; rank 0's choice; the flow that follows it; its first step, whatever was taken.
    at='' chosen='the choice of comm.mode AUTO' follows='preparing the exchange of gradients'
    tried='the trials of comm.mode AUTO' updates='times of updates'
    cases=("before|$light|$light \(step 1\)||0" "before|$second, step 1" "before|$first, step 2"
      "before|$last, step 2" "before|$first, step 3" "before|$last, step 4" "before|$updates"
      "before|$times" "before|$times||$times"
      "before|$tried|||0" "after|$tried|$follows" "before|$follows||$tried"
      "before|measuring ring||$chosen" "before|*, step 5|.*, step 5|$tried"
      "before|*, step 7|.*, step 7|$tried" "before|$tried||$tried"
      "after|$tried|$tried|$tried|0"
      "before|$chosen|||0" "before|$chosen||$tried|0" "after|$chosen|$follows"
      "before|$follows||$chosen"
      "before|*, step *|.*, step [0-9]+|$chosen" "after|*, step *|.*, step [0-9]+|$chosen")
    ;;
  AUTO_light)
    # Rank 0 says that the link is slow; all agree on whether there is memory for factors; the
    # first steps send these.
    at=''
    cases=("before|$light|$light \(step 1\)||0" "before|$light|$light \(step 1\)|$light"
      "before|left factors of $first, step 1"
      "before|$right, step 2" "after|$right, step 4|times of updates")
    ;;
  AUTO_links)
    # Allreduces, allgathers and encoded sums, each beginning at a barrier and ending with the
    # agreement on its time.
    job_mode=AUTO at='' agreed='times of algorithms'
    cases=("before|measuring algorithms||$times" "before|measuring ring||$times"
      "before|$agreed||$times" "before|measuring allgather" "after|measuring allgather|$agreed"
      "before|measuring encoded sum" "inside|measuring encoded sum" "halfway|measuring encoded sum"
      "after|measuring encoded sum|$agreed")
    ;;
  AUTO_arithmetic)
    job_mode=AUTO at='' cases=()
    for rung in 'LAZY FP32' 'LAZY BF16' 'QUANTIZED 8' 'QUANTIZED 4 rotated' 'SPARSE 0.3' \
      'SPARSE 0.15' 'SPARSE 0.05' 'SPARSE 0.02' 'LOW_RANK 8' 'LOW_RANK 4' 'LOW_RANK 2' \
      'LOW_RANK 1' 'TOPK 0.01' 'TOPK 0.001'; do
      cases+=("before|arithmetic of $rung")
    done
    ;;
  AUTO_SPARSE)
    # Rank 0 sends and goes on.
    at='' chunks='the first chunks of comm.mode SPARSE'
    follows='preparing the exchange of gradients'
    cases=("before|$chunks|||0" "before|$chunks|$follows||1" "after|$chunks|$follows||2")
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

# one_case NAME VICTIM SIGNAL MOMENT COLLECTIVE SINCE AWAITED
one_case() {
  local name=$1 victim=$2 signal=$3 awaited=$7 code rank start=$SECONDS command=("$job")
  local what="SIG$signal of rank $victim $4 $5${6:+, since $6}"
  # Open MPI's folders: those of jobs that begin and end at the same time get into each other's way.
  export TEST_TMPDIR # of bazel/mpirun.sh
  TEST_TMPDIR=$(mktemp -d /tmp/lost_rank.XXXXXX)
  trap 'rm -rf "$TEST_TMPDIR"' EXIT
  [ "$signal" = KILL ] && command=(sh "$PWD/unseen.sh" "$victim" "$job")
  (cd "$root" && exec timeout 60 "$mpi" 3 "${command[@]}" "$job_mode" "$victim" "$4" "$5" \
    "$6" "$(kill -l "$signal")") >"$name.log" 2>&1
  code=$?
  echo "$what: exit code $code after $((SECONDS - start)) s"
  cat "$name.log"
  # Open MPI 4.1's mpirun itself may crash at its very end, after it has reported the code.
  if [ "$code" = 139 ] && grep -q 'PMIx_server_finalize' "$name.log"; then
    code=$(sed -n 's/^ *Exit code: *//p' "$name.log")
  fi
  [ "$code" = 3 ] || fail "$what: exit code $code"
  grep -qE "waited [0-9.]+ s in [a-z -]+( of|:) $awaited; missing: rank $victim \(" "$name.log" ||
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
  IFS='|' read -r moment collective awaited since named <<<"$entry"
  collective=$collective${at:+, $at}
  awaited=${awaited:-$collective}
  [[ $awaited == *[,\(]* ]] || awaited+=' \(the choice of comm.mode AUTO\)' # outside of steps
  for signal in KILL STOP; do
    victim=${named:-$((number % 3))} number=$((number + 1))
    (one_case "case$number" "$victim" "$signal" "$moment" "$collective" "$since" "$awaited") \
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
