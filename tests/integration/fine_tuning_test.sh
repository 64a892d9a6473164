#!/bin/bash
# Fine-tuning: weights of a net with another head, frozen layers, resumed to the bit, on two ranks.
. tests/integration/lib.sh
make_job
"$gftrain" --config=job.prototxt --set solver.max_steps=20 --set solver.warmup_steps=0 \
  --set checkpoint.dir=first >first.log 2>&1 || fail "the first net"
start=first/step-00000020

# A head of other classes.
sed -e 's/num_output: 10/num_output: 12/' net.prototxt >head.prototxt
tune=("$mpirun" -np 2 "$gftrain" --config=job.prototxt --set net=head.prototxt --deterministic
  --set solver.warmup_steps=0 --set solver.max_steps=12 --set checkpoint.interval_steps=6
  --set freeze='conv1.*,bn1.*,ip1.weight')
expect_error 'ip2.weight has the shape 10x32 in the file, expected 12x32.*--weights_skip="ip2' \
  "${tune[@]}" --set checkpoint.dir= --weights=$start
"${tune[@]}" --set checkpoint.dir=whole --weights=$start --weights_skip='ip2.*' >tune.log 2>&1 ||
  fail "fine-tuning"
grep -q 'loaded 7 tensors from first/step-00000020/weights.safetensors' tune.log ||
  fail "does not say how many tensors were loaded"
grep -q 'skipped, so as initialized: ip2.weight, ip2.bias' tune.log ||
  fail "does not say what was skipped"
"${tune[@]}" --set checkpoint.dir=parts --weights=$start --weights_skip='ip2.*' --max_steps=6 \
  >part1.log 2>&1 || fail "first part"
"${tune[@]}" --set checkpoint.dir=parts --resume >part2.log 2>&1 || fail "second part"
same_weights whole/step-00000012 parts/step-00000012
"${tune[@]}" --set checkpoint.dir=parts --resume --max_steps=5 >past.log 2>&1 || fail "no step left"
grep -q 'no step is left: training ends after step 5, and the checkpoint is from after step 12' \
  past.log || fail "does not say that no step is left"

# A checkpoint continues with its own freeze only.
expect_error 'another freeze: it did not train ip1.weight, bn1.weight, .*--weights=parts' \
  "${tune[@]}" --set checkpoint.dir= --set freeze=conv1.weight --resume=parts/step-00000006
expect_error 'was written with another freeze: it trained ip2.weight' \
  "${tune[@]}" --set checkpoint.dir= --set freeze='conv1.*,bn1.*,ip1.weight,ip2.weight' \
  --resume=parts/step-00000006

python3 - "$start" whole/step-00000012 <<'PY' || fail "frozen tensors"
import json, struct, sys
def read(path):
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    return {name: data[8 + length + at["data_offsets"][0]:8 + length + at["data_offsets"][1]]
            for name, at in header.items() if name != "__metadata__"}
before, after = (read(folder + "/weights.safetensors") for folder in sys.argv[1:])
kept = ["conv1.weight", "bn1.weight", "bn1.bias", "bn1.running_mean", "bn1.running_var",
        "ip1.weight"]
for name in kept:
    assert before[name] == after[name], name + " changed"
for name in ["ip1.bias", "ip2.weight", "ip2.bias"]:
    assert before[name] != after[name], name + " did not change"
momentum = read(sys.argv[2] + "/optimizer.safetensors")
assert sorted(momentum) == ["momentum/ip1.bias", "momentum/ip2.bias", "momentum/ip2.weight"]
PY

# Parameters that training updates for 0.3 epochs, 5 steps, across a resume.
ends=(--set 'solver.rule[0].pattern=ip2.bias' --set 'solver.rule[0].until_epoch=0.3')
"${tune[@]}" "${ends[@]}" --set checkpoint.dir=ended --weights=$start --weights_skip='ip2.*' \
  >ended.log 2>&1 || fail "a rule that ends"
"${tune[@]}" "${ends[@]}" --set checkpoint.dir=ended2 --weights=$start --weights_skip='ip2.*' \
  --max_steps=3 >ended1.log 2>&1 || fail "first part of a rule that ends"
"${tune[@]}" "${ends[@]}" --set checkpoint.dir=ended2 --resume >ended2.log 2>&1 ||
  fail "second part of a rule that ends"
same_weights ended/step-00000012 ended2/step-00000012
python3 - <<'PY' || fail "parameters whose rule has ended"
import json, struct
def read(path):
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    return {name: data[8 + length + at["data_offsets"][0]:8 + length + at["data_offsets"][1]]
            for name, at in header.items() if name != "__metadata__"}
for name, prefix in (("weights", ""), ("optimizer", "momentum/")):
    middle, last, without = (read("%s/%s.safetensors" % (folder, name)) for folder in (
        "ended/step-00000006", "ended/step-00000012", "whole/step-00000012"))
    assert middle[prefix + "ip2.bias"] == last[prefix + "ip2.bias"], name
    assert middle[prefix + "ip2.bias"] != without[prefix + "ip2.bias"], name
    assert middle[prefix + "ip2.weight"] != last[prefix + "ip2.weight"], name
PY

# Weights that gfdata writes: a first convolution that whitens patches and keeps its weights.
"$gfdata" whiten --config=job.prototxt --name=conv1.weight --kernel=3 --out=white.safetensors \
  >whiten.log 2>&1 || fail "gfdata whiten"
sed -e 's/num_output: 16/num_output: 54/' net.prototxt >white.prototxt
"$gftrain" --config=job.prototxt --set net=white.prototxt --set freeze=conv1.weight \
  --weights=white.safetensors --set solver.max_steps=5 --set solver.warmup_steps=0 \
  --set checkpoint.dir=white >white.log 2>&1 || fail "training with weights that whiten"
python3 - <<'PY' || fail "weights that whiten"
import json, struct
def read(path):
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    at = json.loads(data[8:8 + length])["conv1.weight"]
    return at["shape"], data[8 + length + at["data_offsets"][0]:8 + length + at["data_offsets"][1]]
written = read("white.safetensors")
assert written[0] == [54, 3, 3, 3], written[0]
assert read("white/step-00000005/weights.safetensors") == written
PY

# An evaluation needs no freeze, and gives the accuracy of the training's last evaluation.
"$gfeval" --config=job.prototxt --set net=head.prototxt --checkpoint=whole/step-00000012 \
  >eval.log 2>&1 || fail "evaluation"
