#!/bin/bash
# cut_host_test.sh HOSTS: jobs with one rank on each of HOSTS network namespaces; one of them, not
# that of mpirun, is cut off for ever, GF_TRIALS times (1). Each time mpirun itself ends soon after
# the deadline, messages name the lost rank, and the last complete step is saved.
#
# Needs root and iproute2 and is skipped without them. GF_TRIALS=10 for the full run.
. tests/integration/lib.sh
hosts=$1 trials=${GF_TRIALS:-1}
timeout_s=5 patience_s=15
net=10.213.$((RANDOM % 256))
id=gf$$
export PATH=$PATH:/usr/sbin:/sbin
make_job

cleanup() {
  local host pid
  for host in switch $(seq "$hosts"); do
    for pid in $(ip netns pids "$id$host" 2>/dev/null); do kill -9 "$pid"; done
    ip netns del "$id$host"
  done
} 2>/dev/null
trap 'cleanup; rm -rf "$work"' EXIT

# Processes of the job on all hosts.
ranks() {
  local host
  for host in $(seq "$hosts"); do
    ip netns pids "$id$host" | xargs -r ps -o comm= -p | grep -x gftrain
  done
}

# Hosts are joined by a bridge in a namespace of its own.
make_hosts() {
  local host
  ip netns add "${id}switch" && ip -n "${id}switch" link add bridge type bridge &&
    ip -n "${id}switch" link set bridge up || return 1
  for host in $(seq "$hosts"); do
    ip netns add "$id$host" &&
      ip -n "$id$host" link add eth0 type veth peer name "port$host" netns "${id}switch" &&
      ip -n "${id}switch" link set "port$host" master bridge up &&
      ip -n "$id$host" addr add "$net.$host/24" dev eth0 &&
      ip -n "$id$host" link set lo up && ip -n "$id$host" link set eth0 up || return 1
  done
}
if ! { ip netns add "${id}probe" && ip netns del "${id}probe"; } >probe.log 2>&1; then
  echo "SKIPPED: no network namespaces here: $(head -n 1 probe.log)"
  exit 0
fi
make_hosts >hosts.log 2>&1 || fail "joining the hosts"

# enter ADDRESS COMMAND...: as `ssh ADDRESS COMMAND...`
cat >enter <<ENTER
#!/bin/bash
host=\${1##*.}
shift
exec ip netns exec "$id\$host" unshare --uts bash -c 'hostname "\$0"; exec bash -c "\$*"' \
  "host\$host" "\$@"
ENTER
chmod +x enter
# Each version of Open MPI ignores the variables of the other one.
export OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent=$work/enter PRTE_MCA_plm_ssh_agent=$work/enter
export OMPI_MCA_oob_tcp_if_include=$net.0/24 PRTE_MCA_prte_if_include=$net.0/24

names=$(for host in $(seq "$hosts"); do printf '%s' "$net.$host:1,"; done)
for trial in $(seq "$trials"); do
  log=trial.log folder=run.$trial cut=$((RANDOM % (hosts - 1) + 2))
  (exec ./enter "$net.1" exec "$mpirun" --host "${names%,}" --mca btl_tcp_if_include "$net.0/24" \
    "$gftrain" --config=job.prototxt --set comm.timeout_s=$timeout_s \
    --set comm.flight_recorder= --set telemetry.jsonl= --set telemetry.display_interval=1 \
    --set checkpoint.dir="$folder" --set solver.max_steps=100000000) >"$log" 2>&1 &
  job=$!
  for _ in $(seq 1500); do
    grep -q '^step 3/' "$log" && break
    sleep 0.02
  done
  grep -q '^step 3/' "$log" || fail "trial $trial: no step 3"
  sleep 0.$((RANDOM % 10))
  ip -n "$id$cut" link set eth0 down
  start=$(date +%s%N)
  while kill -0 "$job" 2>/dev/null; do
    [ $((($(date +%s%N) - start) / 1000000000)) -le $((timeout_s + patience_s)) ] ||
      fail "trial $trial: mpirun waits for host $cut"
    sleep 0.05
  done
  took=$((($(date +%s%N) - start) / 1000000))
  wait "$job"
  code=$?
  # 137: mpirun waited for its daemon on the lost host and was killed.
  [ $code = 3 ] || [ $code = 137 ] || fail "trial $trial: exit code $code"
  grep -q "missing: rank $((cut - 1)) (host host$cut)" "$log" ||
    fail "trial $trial: no message names rank $((cut - 1))"
  for _ in $(seq 500); do
    grep -q 'ended in step .* is saved in .*; continue with --resume$' "$log" && break
    sleep 0.02
  done
  grep -q 'ended in step .* is saved in .*; continue with --resume$' "$log" ||
    fail "trial $trial: not a word about what is saved"
  printed=$(sed -n 's!^step \([0-9]*\)/.*!\1!p' "$log" | tail -n 1)
  # shellcheck disable=SC2012 # names are step-DIGITS
  kept=$(ls "$folder" | sed -n 's/^step-0*//p' | tail -n 1)
  [ "${kept:-0}" -ge "$printed" ] || fail "trial $trial: kept step ${kept:-none} of $printed"
  echo "trial $trial: mpirun ended $took ms after host $cut was cut off, exit code $code"
  for _ in $(seq 1500); do
    [ -z "$(ranks)" ] && break
    sleep 0.02
  done
  [ -z "$(ranks)" ] || fail "trial $trial: ranks live on"
  # The daemon of the lost host waits for mpirun.
  for host in $(seq "$hosts"); do
    ip netns pids "$id$host" | xargs -r kill -9 2>/dev/null
  done
  ip -n "$id$cut" link set eth0 up
done
echo PASS
