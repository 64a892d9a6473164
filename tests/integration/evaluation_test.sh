#!/bin/bash
# gfeval counts each image exactly once and gives the same result on any number of ranks, and
# that of the validation at the end of training.
. tests/integration/lib.sh
make_job
"$gfdata" draw --out=more --images=515 --size=32 --seed=9 --force >draw.log 2>&1 ||
  fail "gfdata draw"
on_ranks 2 "$gftrain" --config=job.prototxt --set validation_interval_epochs=1000 >train.log 2>&1 ||
  fail "training"

for ranks in 1 2 3; do
  on_ranks "$ranks" "$gfeval" --config=job.prototxt --json="$ranks.json" --per_class \
    >"$ranks.log" 2>&1 || fail "gfeval on $ranks ranks"
  # 515 images: no number of ranks and no batch divides them.
  on_ranks "$ranks" "$gfeval" --config=job.prototxt --data='more/train-*.tar' \
    --checkpoint=run/step-00000300/weights.safetensors --json="more$ranks.json" --confusions=1000 \
    --misclassified="more$ranks.tsv" >"more$ranks.log" 2>&1 ||
    fail "gfeval of the file on $ranks ranks"
done
# Mirror images and moved ones, of bytes and of floats (16 bits, which the loader normalizes).
evaluate() {
  local name=$1
  shift
  "$gfeval" --config=job.prototxt --json="$name.json" "$@" >"$name.log" 2>&1 || fail "$name"
}
wide=(--set validation_data.pixel_type=UINT16 --set validation_data.mean=32896
  --set validation_data.std=16448)
flips=(--set validation_data.test_flips=true)
shifts=(--set validation_data.test_shifts=2)
evaluate plain
evaluate flipped "${flips[@]}"
evaluate moved "${shifts[@]}"
evaluate both "${flips[@]}" "${shifts[@]}"
evaluate wide_plain "${wide[@]}"
evaluate wide_flipped "${wide[@]}" "${flips[@]}"
evaluate wide_moved "${wide[@]}" "${shifts[@]}"
evaluate wide_both "${wide[@]}" "${flips[@]}" "${shifts[@]}"
python3 - <<'PY' || fail "the results with mirror images and moved ones differ"
import itertools
import json
names = ("plain", "flipped", "moved", "both")
loss = {name: json.load(open(name + ".json"))["loss"]
        for plain in names for name in (plain, "wide_" + plain)}
print(loss)
for name in names:
    assert abs(loss[name] - loss["wide_" + name]) < 1e-5, name
for one, other in itertools.combinations(names, 2):
    assert abs(loss[one] - loss[other]) > 1e-4, (one, other)
PY
python3 - <<'PY' || fail "the results differ"
import json
def load(name):
    with open(name) as f:
        return json.load(f)
for prefix, images in (("", 60), ("more", 515)):
    results = [load("%s%d.json" % (prefix, ranks)) for ranks in (1, 2, 3)]
    for r in results:
        assert r["images"] == images, r["images"]
        assert sum(c["images"] for c in r["classes"]) == images
        assert sum(c["right"] for c in r["classes"]) == round(r["top1"] * images)
        assert r["top1"] == results[0]["top1"] and r["top5"] == results[0]["top5"]
        assert [c["right"] for c in r["classes"]] == [c["right"] for c in results[0]["classes"]]
        assert abs(r["loss"] - results[0]["loss"]) < 1e-5
    assert r["confusions"] == results[0]["confusions"]
    if not prefix:
        continue
    lines = [line.split("\t") for line in open("more1.tsv")]
    wrong = images - round(results[0]["top1"] * images)
    assert len(lines) == wrong == sum(c["images"] for c in results[0]["confusions"])
    for c in results[0]["confusions"]:
        pairs = [l for l in lines if int(l[1]) == c["class"] and int(l[2]) == c["taken_for"]]
        assert len(pairs) == c["images"] and c["class"] != c["taken_for"]
    assert all("more/train-000000.tar:" in l[0] for l in lines)
    assert open("more1.tsv").read() == open("more2.tsv").read() == open("more3.tsv").read()
validation = [json.loads(line) for line in open("log.jsonl")]
validation = [v for v in validation if v["kind"] == "validation"][-1]
assert validation["top1"] == load("1.json")["top1"], validation
assert abs(validation["loss"] - load("1.json")["loss"]) < 1e-5
PY
echo PASS
