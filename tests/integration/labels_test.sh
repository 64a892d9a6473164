#!/usr/bin/env bash
# Jobs whose images have several classes or real values, from lists, files of labels and shards:
# they learn, on any number of ranks and after a resume; the figures of gfeval equal their
# definitions, computed from what gfpredict says.
. tests/integration/lib.sh
gfpredict=$root/tools/gfpredict

# 16x16 images with one bright square, whose place is two values; and with squares in some of the
# color channels, which are the classes.
python3 - <<'PY' || fail "drawing"
import os, random, struct, zlib

def write_png(path, pixels):
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))
    rows = b"".join(b"\0" + bytes(pixels[y * 48:(y + 1) * 48]) for y in range(16))
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" +
                   chunk(b"IHDR", struct.pack(">IIBBBBB", 16, 16, 8, 2, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))

def square(pixels, channels, x, y):
    for row in range(y, y + 4):
        for column in range(x, x + 4):
            for c in channels:
                pixels[(row * 16 + column) * 3 + c] = 255

rng = random.Random(3)
for part, count in (("train", 300), ("val", 70)):
    os.makedirs("places/%s images" % part)
    os.makedirs("colors/%s/deep" % part)
    places, colors = [], ["key,labels"]
    for i in range(count):
        x, y = rng.randrange(13), rng.randrange(13)
        pixels = [0] * (3 * 256)
        square(pixels, (0, 1, 2), x, y)
        name = "%s images/%d.png" % (part, i)
        write_png("places/" + name, pixels)
        places.append("%s %.4f %.4f" % (name, x / 12, 3 + y / 12))
        pixels = [0] * (3 * 256)
        classes = [c for c in range(3) if rng.random() < 0.4]
        for c in classes:
            square(pixels, (c,), rng.randrange(13), rng.randrange(13))
        name = "deep/%d.png" % i if i % 2 else "%d.png" % i
        write_png("colors/%s/%s" % (part, name), pixels)
        words = [("red", "green", "blue")[c] if i % 3 else str(c) for c in classes]
        colors.append(",".join([name if i % 5 else name[:-4]] + words))
    rng.shuffle(places)
    with open("places/%s.txt" % part, "w") as file:
        file.write("\n".join(places) + "\n")
    with open("colors/%s.csv" % part, "w") as file:
        file.write("\n".join(colors[:1] + rng.sample(colors[1:], count)) + "\n")
with open("colors/classes.txt", "w") as file:
    file.write("red\ngreen\nblue\n")
PY

# net LOSS: a linear net for 7 outputs, which classes of the job changes.
net() {
  cat <<NET
name: "linear"
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: [1, 3, 16, 16] } } }
layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 1 } } }
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
        inner_product_param { num_output: 7 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "$1" bottom: "ip" bottom: "label" top: "loss" }
NET
}
net EuclideanLoss >values.net
net SigmoidCrossEntropyLoss >classes.net
# job NAME RATE TRAIN VALIDATION MORE
job() {
  cat <<JOB
net: "$1.net"
device: "${GF_TEST_DEVICE:-cpu}"
train_data { $3 batch_size: 10 std: 255 }
validation_data { $4 batch_size: 16 std: 255 }
validate_at_start: true
validation_interval_epochs: 1000
$5
solver { base_lr: $2 max_steps: 400 }
checkpoint { dir: "run_$1" interval_epochs: 0 interval_steps: 200 }
telemetry { display_interval: 20 jsonl: "$1.jsonl" }
JOB
}
job values 0.05 'source: "places/train.txt" labels { type: VALUES count: 2 }' \
  'source: "places/val.txt" labels { type: VALUES count: 2 }' 'classes: 2' >values.job
job classes 0.3 'source: "colors/train" labels { type: CLASSES file: "colors/train.csv" }' \
  'source: "colors/val" labels { type: CLASSES file: "colors/val.csv" }' 'classes: 3' >classes.job

"$gftrain" --config=values.job --dry_run >dry.log 2>&1 || fail "--dry_run"
grep -q '10x2' dry.log || fail "no blob of two values"
for kind in values classes; do
  on_ranks 2 "$gftrain" --config=$kind.job --deterministic >$kind.log 2>&1 || fail "training $kind"
  # Stopped in the middle and resumed.
  on_ranks 2 "$gftrain" --config=$kind.job --deterministic --max_steps=200 \
    --set checkpoint.dir=half_$kind --set telemetry.jsonl=half.jsonl >half.log 2>&1 ||
    fail "half of $kind"
  on_ranks 2 "$gftrain" --config=$kind.job --deterministic --set checkpoint.dir=half_$kind \
    --set telemetry.jsonl=half.jsonl --resume >resume.log 2>&1 || fail "resume of $kind"
  same_weights run_$kind/step-00000400 half_$kind/step-00000400
  for ranks in 1 2 3; do
    on_ranks $ranks "$gfeval" --config=$kind.job --per_class --json=$kind$ranks.json \
      >eval_$kind$ranks.log 2>&1 || fail "gfeval of $kind on $ranks ranks"
  done
done
"$gfpredict" --checkpoint=run_values --format=json "places/val images" >values.pred 2>err.log ||
  fail "gfpredict of values"
"$gfpredict" --checkpoint=run_classes --format=json --top=3 colors/val >classes.pred 2>err.log ||
  fail "gfpredict of classes"
"$gfpredict" --checkpoint=run_classes colors/val >likely.txt 2>err.log || fail "likely classes"

python3 - <<'PY' || fail "the figures differ"
import csv, json, math

def ends(kind, what):
    lines = [json.loads(line) for line in open(kind + ".jsonl")]
    validation = [line[what] for line in lines if line["kind"] == "validation"]
    loss = [line["loss"] for line in lines if line["kind"] == "train"]
    return validation[0], validation[-1], loss[0], loss[-1]

def near(a, b):
    assert abs(a - b) < 1e-4 * max(1, abs(b)), (a, b)

before, after, first, last = ends("values", "rmse")
assert after < before / 5 and after < 0.3 and last < first / 5, (before, after, first, last)
before, after, first, last = ends("classes", "mean_average_precision")
assert after > before and after > 0.95 and last < first, (before, after, first, last)

for kind, keys in (("values", ("rmse", "mae", "r2", "loss")),
                   ("classes", ("mean_average_precision", "exact_match", "loss"))):
    results = [json.load(open("%s%d.json" % (kind, ranks))) for ranks in (1, 2, 3)]
    for result in results:
        assert result["images"] == 70
        for key in keys:
            near(result[key], results[0][key])

truth = {}
for line in open("places/val.txt"):
    path, x, y = line.rsplit(" ", 2)
    truth["places/" + path] = (float(x), float(y))
pairs = []
for line in open("values.pred"):
    entry = json.loads(line)
    pairs.append((truth[entry["file"]], [value["value"] for value in entry["values"]]))
assert len(pairs) == 70
result, r2 = json.load(open("values1.json")), []
for k in range(2):
    d = [p[k] - t[k] for t, p in pairs]
    mean = sum(t[k] for t, _ in pairs) / 70
    r2.append(1 - sum(e * e for e in d) / sum((t[k] - mean) ** 2 for t, _ in pairs))
    near(result["values"][k]["rmse"], math.sqrt(sum(e * e for e in d) / 70))
    near(result["values"][k]["mae"], sum(map(abs, d)) / 70)
    assert abs(result["values"][k]["r2"] - r2[k]) < 1e-2
d = [p[k] - t[k] for t, p in pairs for k in range(2)]
near(result["rmse"], math.sqrt(sum(e * e for e in d) / 140))
near(result["mae"], sum(map(abs, d)) / 140)

names = ["red", "green", "blue"]
truth = {}
for row in list(csv.reader(open("colors/val.csv")))[1:]:
    classes = {names.index(word) if word in names else int(word) for word in row[1:] if word}
    truth["colors/val/" + (row[0] if row[0].endswith(".png") else row[0] + ".png")] = classes
images = []
for line in open("classes.pred"):
    entry = json.loads(line)
    shares = {guess["class"]: guess["probability"] for guess in entry["top"]}
    assert {guess["label"] for guess in entry["top"]} == set(names)
    images.append((entry["file"], truth[entry["file"]], shares))
assert len(images) == 70
result, mean = json.load(open("classes1.json")), 0
for c in range(3):
    scored = sorted(((shares[c], c in has) for _, has, shares in images), reverse=True)
    precision = sum(sum(h for s, h in scored if s >= score) / sum(s >= score for s, _ in scored)
                    for score, has in scored if has) / sum(has for _, has in scored)
    near(result["classes"][c]["average_precision"], precision)
    assert result["classes"][c]["images"] == sum(has for _, has in scored)
    mean += precision / 3
near(result["mean_average_precision"], mean)
exact = sum({c for c in range(3) if shares[c] > 0.5} == has for _, has, shares in images) / 70
near(result["exact_match"], exact)
for line, (file, _, shares) in zip(open("likely.txt"), images):
    name, text = line.rstrip("\n").rsplit(": ", 1)
    said = set() if text == "none" else {guess.split()[0] for guess in text.split(", ")}
    assert name == file and said == {names[c] for c in range(3) if shares[c] > 0.5}, line
PY

# The same data as shards.
for part in train val; do
  "$gfdata" convert --from=places/$part.txt --labels=values --to=shards_$part >convert.log 2>&1 ||
    fail "convert of places"
done
"$gfdata" info shards_val --labels=values >info.log 2>&1 || fail "gfdata info"
grep -q 'values     2' info.log || fail "no values in gfdata info"
"$gfeval" --config=values.job --data=shards_val --json=shards.json >shards.log 2>&1 ||
  fail "gfeval of shards"
python3 -c 'import json
a, b = (json.load(open(name)) for name in ("values1.json", "shards.json"))
assert abs(a["rmse"] - b["rmse"]) < 1e-4 and a["images"] == b["images"], (a, b)' ||
  fail "shards give another RMSE"
"$gfeval" --checkpoint=run_values --json=own.json >own.log 2>&1 || fail "gfeval without --config"
python3 -c 'import json
a, b = (json.load(open(name)) for name in ("values1.json", "own.json"))
assert a["images"] == b["images"], (a, b)
assert all(abs(a[key] - b[key]) < 1e-4 for key in ("rmse", "mae", "r2")), (a, b)' ||
  fail "the job in the checkpoint gives other figures"
"$gfdata" convert --from=colors/val --labels=classes --labels_file=colors/val.csv --to=tagged \
  >convert.log 2>&1 || fail "convert of colors"
"$gfdata" info tagged --labels=classes >info.log 2>&1 || fail "gfdata info of classes"
grep -q 'per image' info.log || fail "no labels per image in gfdata info"

# Mistakes.
expect_error 'places/train.txt:1: several labels' "$gftrain" --config=values.job \
  --set classes=0 --set train_data.labels.type=CLASS --set train_data.labels.count=0 \
  --set validation_data.labels.type=CLASS --set validation_data.labels.count=0
expect_error 'train_data.labels.count is 3, but classes is 2' "$gftrain" --config=values.job \
  --set train_data.labels.count=3
expect_error 'same number' "$gftrain" --config=values.job --set classes=0
net SoftmaxWithLoss >softmax.net
expect_error 'holds labels of type CLASSES or VALUES' "$gftrain" --config=classes.job \
  --set classes=0 --set net=softmax.net
cat >places.net <<'NET'
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: [1, 3, 16, 16] } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
        convolution_param { num_output: 2 kernel_size: 1 } }
NET
expect_error 'outputs of 16x2x16x16 for 16 images, expected 16x2' "$gfeval" --config=values.job \
  --set classes=0 --set net=places.net --checkpoint=run_values
echo 'x' >>colors/val.csv
expect_error 'val.csv:72: "x" is no image' "$gfeval" --config=classes.job
expect_error 'is for images of one class' "$gfeval" --config=values.job --confusions=3
expect_error 'is for images of one class' "$gfeval" --checkpoint=run_values --misclassified=x.txt
# Before an hour of evaluation.
expect_error '--json=none/x.json: none is not a folder' "$gfeval" --config=values.job \
  --json=none/x.json
# The file of labels belongs to the job's own images.
"$gfeval" --config=values.job --set validation_data.labels.file=none.csv --data=shards_val \
  >other.log 2>&1 && fail "a file of labels that --set names is not read"
echo PASS
