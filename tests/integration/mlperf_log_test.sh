#!/bin/bash
# gftrain --mlperf_log: the events of a run, and what MLPerf's compliance checker says of it, with a
# Python that has mlperf-logging: GF_MLPERF_PYTHON.
. tests/integration/lib.sh
"$gfdata" draw --out=data --images=3000 --size=32 --seed=7 >draw.log 2>&1 || fail "gfdata draw"
sed 's/^name: ".*"/name: "resnet_quickstart"/' "$root/models/quickstart_net.prototxt" >net.prototxt
cat >job.prototxt <<'JOB'
name: "small"
net: "net.prototxt"
train_data { source: "data/train-*.tar" batch_size: 16 mean: 128 std: 64 }
validation_data { source: "data/val-*.tar" batch_size: 50 mean: 128 std: 64 }
validation_interval_epochs: 2.5
solver {
  base_lr: 0.05 lr_policy: POLY power: 2 end_lr: 0.0001 max_epochs: 10 warmup_epochs: 0.5
  momentum: 0.9 weight_decay: 0.0002
}
JOB
"$mpirun" -np 2 "$gftrain" --config=job.prototxt --mlperf_log=sgd.txt >sgd.log 2>&1 || fail "SGD"
"$mpirun" -np 2 "$gftrain" --config=job.prototxt --mlperf_log=lars.txt --set solver.type=LARS \
  --set solver.base_lr=2 --set solver.max_epochs=2 --set solver.iter_size=2 \
  --set validation_interval_epochs=0 >lars.log 2>&1 || fail "LARS"
"$gftrain" --config=job.prototxt --mlperf_log=stopped.txt >stopped.log 2>&1 &
pid=$!
for _ in $(seq 1000); do
  grep -q run_start stopped.txt 2>/dev/null && break
  sleep 0.02
done
kill -TERM "$pid"
wait "$pid"
expect_error 'not finite' "$gftrain" --config=job.prototxt --mlperf_log=failed.txt \
  --set solver.base_lr=1e30
for type in Muon AdamW; do
  "$gftrain" --config=job.prototxt --mlperf_log=$type.txt --max_steps=5 --set solver.type=$type \
    --set solver.lr_policy=FIXED >$type.log 2>&1 || fail "$type"
done
for part in 100 250; do
  "$gftrain" --config=job.prototxt --mlperf_log=resumed.txt --max_steps=$part --resume \
    --set checkpoint.dir=ck --set validation_interval_epochs=1 >resumed.log 2>&1 || fail "resumed"
done
expect_error 'sgd.txt is not empty' "$gftrain" --config=job.prototxt --mlperf_log=sgd.txt
expect_error 'cannot write nowhere/log.txt' "$gftrain" --config=job.prototxt \
  --mlperf_log=nowhere/log.txt

python3 - <<'PY' || fail "the events"
import json

def read(path):
    lines = open(path).read().splitlines()
    assert all(line.startswith(":::MLLOG ") for line in lines), path
    return [json.loads(line[len(":::MLLOG "):]) for line in lines]

def value(events, key):
    found = [event["value"] for event in events if event["key"] == key]
    assert len(found) == 1, (key, found)
    return found[0]

sgd = read("sgd.txt")
times = [event["time_ms"] for event in sgd]
assert times == sorted(times)
order = [event["key"] for event in sgd if event["key"].split("_")[0] in
         ("init", "run", "block", "eval") and event["key"] != "eval_samples"]
assert order == (["init_start", "init_stop", "run_start"] +
                 ["block_start", "block_stop", "eval_start", "eval_accuracy", "eval_stop"] * 4 +
                 ["run_stop"]), order
expected = {"submission_benchmark": "resnet", "global_batch_size": 32, "opt_name": "sgd",
            "gradient_accumulation_steps": 1, "sgd_opt_base_learning_rate": 0.05,
            "sgd_opt_end_learning_rate": 0.0001, "sgd_opt_learning_rate_decay_poly_power": 2,
            "sgd_opt_momentum": 0.9, "sgd_opt_weight_decay": 0.0002, "seed": 1,
            "model_bn_span": 16}
for key, wanted in expected.items():
    assert value(sgd, key) == wanted, (key, value(sgd, key))
images, steps = value(sgd, "train_samples"), value(sgd, "sgd_opt_learning_rate_decay_steps")
assert steps == -(-images * 10 // 32), (images, steps)
assert abs(value(sgd, "opt_learning_rate_warmup_epochs") - 0.5) < 0.05
accuracies = [event for event in sgd if event["key"] == "eval_accuracy"]
assert accuracies[-1]["value"] > 0.759, accuracies
assert abs(accuracies[0]["metadata"]["epoch_num"] - 2.5) < 0.05, accuracies
assert [event for event in sgd if event["key"] == "run_stop"][0]["metadata"]["status"] == "success"

lars = read("lars.txt")
assert value(lars, "global_batch_size") == 64 and value(lars, "gradient_accumulation_steps") == 2
assert value(lars, "lars_opt_base_learning_rate") == 2 and value(lars, "lars_epsilon") == 0
assert len([event for event in lars if event["key"] == "block_start"]) == 1
stopped = read("stopped.txt")
assert stopped[-1]["metadata"]["status"] == "aborted", stopped[-1]
failed = read("failed.txt")
assert [event["key"] for event in failed[-2:]] == ["block_stop", "run_stop"], failed[-2:]
assert failed[-1]["metadata"]["status"] == "aborted", failed[-1]

# What a solver does not use is not written.
muon, adamw = read("Muon.txt"), read("AdamW.txt")
assert value(muon, "muon_opt_momentum") == 0.95
assert value(adamw, "opt_adamw_beta_1") == 0.9 and value(adamw, "opt_adamw_beta_2") == 0.999
for event in muon + adamw:
    assert "decay_" not in event["key"] and "end_learning" not in event["key"], event
    assert event["key"] != "adamw_opt_momentum"
resumed = [event["metadata"]["epoch_count"] for event in read("resumed.txt")
           if event["key"] == "block_start"]
first = 100 * 16 / value(sgd, "train_samples")
for found, wanted in zip(resumed, [first, 1 - first, 2.5 * first - 1], strict=True):
    assert abs(found - wanted) < 0.1, (found, wanted)
PY

python=${GF_MLPERF_PYTHON:-/usr/bin/python3}
if ! "$python" -c 'import mlperf_logging' 2>/dev/null; then
  echo "SKIPPED: $python has no mlperf-logging: name one that has with GF_MLPERF_PYTHON (python3" \
    "-m venv FOLDER && FOLDER/bin/pip install mlperf-logging)"
  exit 0
fi
"$python" -m mlperf_logging.compliance_checker --ruleset=4.0.0 sgd.txt >check.log 2>&1 ||
  fail "the compliance checker"
# So little training with LARS may miss the accuracy of ImageNet.
"$python" -m mlperf_logging.compliance_checker --ruleset=4.0.0 lars.txt >check.log 2>&1 ||
  { grep -q 'eval_accuracy' check.log &&
    ! grep -E 'Required|CHECK|parsing|Could not|Traceback' check.log |
      grep -qv 'eval_accuracy'; } ||
  fail "the compliance checker on LARS"
echo PASS
