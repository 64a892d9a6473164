#!/bin/bash
# Classes of training, validation and evaluation are matched by name.
. tests/integration/lib.sh
make_job
"$gfdata" draw --out=more --images=300 --size=32 --seed=9 --force >draw.log 2>&1 ||
  fail "gfdata draw"
"$gfdata" convert --from='data/train-*.tar' --to=train --format=folder >convert.log 2>&1 &&
  "$gfdata" convert --from='more/train-*.tar' --to=all --format=folder >>convert.log 2>&1 ||
  fail "gfdata convert"
first=$(cd train && printf '%s\n' * | head -1)
cp -r all fewer && rm -r "fewer/$first"
sources="--set train_data.source=train --set validation_data.source=fewer"
on_ranks 2 "$gftrain" --config=job.prototxt $sources --set validation_interval_epochs=1000 \
  >train.log 2>&1 || fail "training"
missing="fewer has no images of 1 of 10 classes (\"$first\"): the accuracy says nothing"
grep -v "$missing" train.log | grep -q warning && fail "a warning about equal classes"
grep -qF "$missing" train.log || fail "no warning of a class that validation does not meet"

for data in all fewer; do
  "$gfeval" --config=job.prototxt --data=$data --per_class --json=$data.json >$data.log 2>&1 ||
    fail "gfeval of $data"
done
grep -q warning all.log && fail "a warning about complete data"
grep -qE "^ +0 +0 +0 +none  $first\$" fewer.log || fail "an accuracy of no images"
python3 - <<'PY' || fail "the missing class shifts the others"
import json
everything, fewer = (json.load(open(name + ".json")) for name in ("all", "fewer"))
assert fewer["classes"][0]["top1"] is None
assert fewer["classes"][0]["images"] == 0 and everything["classes"][0]["images"] > 0
assert fewer["classes"][1:] == everything["classes"][1:]
assert sum(c["images"] for c in fewer["classes"]) == fewer["images"] > 200
validation = [json.loads(line) for line in open("log.jsonl")]
validation = [v for v in validation if v["kind"] == "validation"][-1]
assert validation["top1"] == fewer["top1"], validation
PY

mkdir all/zebra && cp "$(find "all/$first" -type f | head -1)" all/zebra/stripes.png
expect_error 'validation_data: 1 class not among the 10 .*"zebra" \(.*all/zebra/stripes.png' \
  "$gfeval" --config=job.prototxt --data=all
expect_error 'validation_data: 1 class not among the 10 .*"zebra"' \
  "$gftrain" --config=job.prototxt --set checkpoint.dir= $sources \
  --set validation_data.source=all

rm -r "train/$first"
"$gftrain" --config=job.prototxt $sources --set solver.max_steps=301 --resume >resume.log 2>&1 ||
  fail "resuming with a class less"
grep -q 'changed since the checkpoint: the classes of the training data; class 0 was' resume.log ||
  fail "no note about classes that have changed"
grep -q 'warning: train_data: .*9 classes, but .*net.prototxt has 10 outputs: 1 of' resume.log ||
  fail "no warning about an output without images"
echo PASS
