#!/bin/bash
# watchdog_test.sh: a rank of three is killed (SIGKILL) or stopped (SIGSTOP) at a random moment of
# the start, of a step, a validation or a checkpoint, GF_TRIALS times (8). Every time the job ends
# soon and non-zero, says which rank it was, leaves no process behind, and the ranks that gave up
# wrote their flight recorders.
trials=${GF_TRIALS:-8}
. tests/integration/lib.sh
make_job
models=$root/models
sed -i 's!^net:.*!net: "lenet.prototxt"!; s!crop_size: 28!crop_size: 28 channels: 1!' job.prototxt
cp "$models/lenet.prototxt" .

# start TRIAL PHASE MODE: in the background; the job does little but that phase.
start() {
  local phase=$2 options=()
  case $phase in
    init | step) options=(--set checkpoint.dir= --set validation_interval_epochs=1000000) ;;
    validation) options=(--set checkpoint.dir= --set validation_interval_epochs=0.01) ;;
    checkpoint)
      options=(--set checkpoint.interval_steps=1 --set "checkpoint.dir=run.$1"
        --set validation_interval_epochs=1000000)
      ;;
  esac
  (exec "$mpirun" -np 3 "$gftrain" --config=job.prototxt \
    --set "comm.flight_recorder=recorder.$tag" --set "comm.timeout_s=$timeout" \
    --set "comm.mode=$3" --set comm.sparse.chunk_size=800 \
    --set solver.max_steps=100000000 --set telemetry.display_interval=1 \
    --set telemetry.jsonl= "${options[@]}") >"trial.$1.log" 2>&1 &
  job=$!
}

# pid_of RANK: of the job's process.
pid_of() {
  local pid
  for pid in $(pgrep -P "$job"); do
    if tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx "PMIX_RANK=$1"; then
      # Between fork and exec it is still mpirun.
      [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = gftrain ] && echo "$pid" && return 0
    fi
  done
  return 1
}

wait_until() { # COMMAND...
  for _ in $(seq 3000); do
    "$@" && return 0
    kill -0 "$job" 2>/dev/null || break
    sleep 0.01
  done
  fail "trial $trial: never came: $*"
}

seconds_since() { echo "$(date +%s.%N) $1" | awk '{ print $1 - $2 }'; }

phases=(init step validation checkpoint) modes=(LAZY SPARSE TOPK LOW_RANK QUANTIZED PERIODIC AUTO)
signals=(STOP KILL)
recorders=0 named_by_us=0
for trial in $(seq "$trials"); do
  # Every phase with both signals, and every mode, in eight trials.
  phase=${phases[$((trial % 4))]} signal=${signals[$((trial / 4 % 2))]}
  mode=${modes[$((trial % 7))]} victim=$((RANDOM % 3)) timeout=$((3 + RANDOM % 3))
  tag=$trial.$$.$RANDOM
  log=trial.$trial.log
  what="trial $trial: SIG$signal of rank $victim in $phase, $mode, comm.timeout_s $timeout"
  start "$trial" "$phase" "$mode"
  wait_until pid_of $victim >pid
  pid=$(tail -n 1 pid)
  if [ "$phase" != init ]; then wait_until grep -q '^step 2/' "$log"; fi
  sleep "0.$(printf '%03d' $((RANDOM % 700)))"
  kill "-$signal" "$pid" || fail "$what: it has ended already"
  begin=$(date +%s.%N)

  # The ranks may be up to a validation away from the moment when they need each other.
  for _ in $(seq $(((timeout + 10) * 20))); do
    kill -0 "$job" 2>/dev/null || break
    sleep 0.05
  done
  seconds=$(seconds_since "$begin")
  if kill -0 "$job" 2>/dev/null; then
    cat "$log"
    kill -CONT "$pid"
    kill_job "$job"
    fail "$what: still there after $seconds s"
  fi
  wait "$job"
  code=$?
  echo "$what: exit code $code after $seconds s"
  # What saves the last step may live a little longer than mpirun.
  for _ in $(seq 100); do
    pgrep -f "recorder.$tag" >/dev/null || break
    sleep 0.05
  done
  pgrep -af "recorder.$tag" && fail "$what: processes are left"

  name="rank $victim \(host [^)]+\)"
  if [ "$signal" = STOP ]; then
    # Open MPI 4.1's mpirun itself may crash at its very end, after it has reported the code.
    if [ "$code" = 139 ] && grep -q 'PMIx_server_finalize' "$log"; then
      echo "$what: mpirun crashed in PMIx_server_finalize"
      code=$(sed -n 's/^ *Exit code: *//p' "$log")
    fi
    [ "$code" = 3 ] || fail "$what: exit code $code"
    # MPI itself does not say who is missing while it starts.
    [ "$phase" = init ] && name="$name|stopped on this host: rank $victim \(process"
    grep -qE "rank [0-2] \(host .*\) waited .*($name)" "$log" ||
      fail "$what: the message does not name it"
  else
    [ "$code" != 0 ] || fail "$what: exit code $code"
    killed="process rank $victim with PID .* on node .* exited on signal 9"
    # mpirun breaks its lines anywhere.
    grep -qE "$killed|missing: $name" <<<"$(tr '\n' ' ' <"$log")" ||
      fail "$what: the message does not name it"
  fi
  grep -E 'missing: ' "$log" | grep -vqE "missing: rank $victim( |;)" &&
    fail "$what: another rank is named"
  grep -qE "missing: rank $victim" "$log" && named_by_us=$((named_by_us + 1))
  for rank in 0 1 2; do
    file=recorder.$tag.rank$rank.json
    if [ -f "$file" ]; then
      recorders=$((recorders + 1))
      python3 -c 'import json, sys
black_box = json.load(open(sys.argv[1]))
assert black_box["rank"] == int(sys.argv[2]) and black_box["reason"], black_box["reason"]' \
        "$file" "$rank" || fail "$what: $file"
    elif [ "$signal" = STOP ] && [ "$phase" != init ] && [ "$rank" != "$victim" ]; then
      fail "$what: no $file"
    fi
  done
done
echo "PASS: $trials trials, $named_by_us with a message of ours, $recorders flight recorders"
