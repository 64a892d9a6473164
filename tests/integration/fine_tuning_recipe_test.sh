#!/bin/bash
# The README's way from a folder of images for each class, and ImageNet weights, to a classifier,
# its predictions and an ONNX file: configs/fine_tuning.prototxt.
. tests/integration/lib.sh
"$gfdata" draw --out=drawn --images=120 --size=64 --seed=5 >draw.log 2>&1 || fail "gfdata draw"
for set in train val; do
  "$gfdata" convert --from="drawn/$set-*.tar" --to="pictures/$set" --format=folder \
    >convert.log 2>&1 || fail "convert $set"
done
# Weights of 1,000 classes with torchvision's names.
cat >imagenet.prototxt <<JOB
net: "$root/models/resnet18.prototxt"
train_data { source: "drawn/train-*.tar" batch_size: 2 resize_height: 224 resize_width: 224 }
solver { base_lr: 0.001 max_steps: 1 }
checkpoint { dir: "imagenet" }
JOB
"$gftrain" --config=imagenet.prototxt >imagenet.log 2>&1 || fail "weights"
weights=imagenet/step-00000001/weights.safetensors

data=(--set train_data.source="$work/pictures/train"
  --set validation_data.source="$work/pictures/val")
job=(--config="$root/configs/fine_tuning.prototxt" --set classes=10)
"$gftrain" "${job[@]}" "${data[@]}" --weights=$weights --weights_skip='fc.*' --max_steps=2 \
  --set train_data.batch_size=8 >tune.log 2>&1 || fail "fine-tuning"
grep -q 'skipped, so as initialized: fc.weight, fc.bias' tune.log || fail "fc was not skipped"
"$gfeval" --checkpoint=runs/fine_tuning --data="$work/pictures/val" --per_class \
  --misclassified=wrong.tsv \
  >eval.log 2>&1 || fail "evaluation"
"$root/tools/gfpredict" --checkpoint=runs/fine_tuning pictures/val --format=json --top=1 \
  >predicted.json 2>predict.log || fail "prediction"
"$root/tools/gfexport" --checkpoint=runs/fine_tuning --onnx=model.onnx >export.log 2>&1 ||
  fail "export"
grep -q 'input    data Nx3x224x224' export.log && grep -q 'output   fc Nx10' export.log ||
  fail "the model"

python3 - $weights runs/fine_tuning/step-00000002/weights.safetensors <<'PY' || fail "weights"
import json, struct, sys
def read(path):
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    return {name: data[8 + length + at["data_offsets"][0]:8 + length + at["data_offsets"][1]]
            for name, at in header.items() if name != "__metadata__"}
before, after = read(sys.argv[1]), read(sys.argv[2])
assert sorted(before) == sorted(after)
changed = sorted(name for name in after if before[name] != after[name])
assert changed == ["fc.bias", "fc.weight"], changed
PY
python3 - <<'PY' || fail "gfpredict differs from gfeval"
import json
wrong = {line.split("\t")[0].split("pictures/")[1]: int(line.rstrip().split("\t")[2])
         for line in open("wrong.tsv")}
entries = [json.loads(line) for line in open("predicted.json")]
assert len(entries) == 24, len(entries)
for e in entries:
    name = e["file"].split("pictures/")[1]
    folder = sorted({x["file"].split("/")[2] for x in entries}).index(e["file"].split("/")[2])
    assert e["class"] == wrong.get(name, folder), (e, wrong.get(name), folder)
PY
echo PASS
