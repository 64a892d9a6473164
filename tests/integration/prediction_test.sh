#!/usr/bin/env bash
# gfpredict takes images for the classes that gfeval takes them for; its formats are what other
# programs read; libgfpredict.so gives the same probabilities; checkpoints know their networks, to
# gfpredict and to gfeval.
. tests/integration/lib.sh
gfpredict=$root/tools/gfpredict
make_job
# At higher rates the net soon says the same of every image.
train=("$gftrain" --config=job.prototxt --set solver.max_steps=40 --set solver.warmup_steps=0
  --set solver.base_lr=0.002
  --set validation_interval_epochs=1000)
"${train[@]}" >train.log 2>&1 || fail "training"
step=run/step-00000040
"$gfdata" convert --from='data/val-*.tar' --to=val --format=folder >convert.log 2>&1 ||
  fail "gfdata convert"
"$gfeval" --config=job.prototxt --data=val --json=eval.json --misclassified=wrong.tsv \
  >eval.log 2>&1 || fail "gfeval"

# Without the job and its files.
mkdir away && mv job.prototxt net.prototxt away/
for checkpoint in run $step; do
  on_ranks 2 "$gfeval" --checkpoint=$checkpoint --data=val --json=alone.json \
    --misclassified=alone.tsv >alone.log 2>&1 || fail "gfeval --checkpoint=$checkpoint alone"
  cmp wrong.tsv alone.tsv || fail "gfeval takes other images for other classes without the job"
  python3 - $step <<'PY' || fail "gfeval differs without the job"
import json, sys
a, b = (json.load(open(name)) for name in ("eval.json", "alone.json"))
assert b["weights"] == sys.argv[1], b["weights"]
for key in ("images", "top1", "top5", "classes"):
    assert a[key] == b[key], (key, a[key], b[key])
assert abs(a["loss"] - b["loss"]) < 1e-5, (a["loss"], b["loss"])
PY
done
# The validation_data that the job had, changed by --set.
"$gfeval" --checkpoint=run --json=own.json --set validation_data.batch_size=7 >own.log 2>&1 ||
  fail "gfeval on the checkpoint's own data"
python3 -c 'import json; assert json.load(open("own.json"))["images"] == 60' ||
  fail "not the job's own data: $(cat own.json)"
expect_error '--checkpoint: .*safetensors is a file, and weights alone do not say' \
  "$gfeval" --checkpoint=$step/weights.safetensors --data=val
expect_error 'config is missing: name the job.s file, or a checkpoint with --checkpoint' \
  "$gfeval" --data=val
"$gfpredict" --checkpoint=run --format=json --top=10 val >all.json 2>err.log || fail "gfpredict"
[ -s err.log ] && fail "a remark without --verbose: $(cat err.log)"
python3 - <<'PY' || fail "gfpredict and gfeval differ"
import json, math, re
wrong = {}
for line in open("wrong.tsv"):
    path, label, taken = line.rstrip("\n").split("\t")
    wrong[path] = (int(label), int(taken))
evaluation = json.load(open("eval.json"))
names = {c["name"]: c["class"] for c in evaluation["classes"]}
entries = [json.loads(line) for line in open("all.json")]
assert len(entries) == evaluation["images"] == 60, len(entries)
assert [e["file"] for e in entries] == sorted(e["file"] for e in entries)
loss = 0
for e in entries:
    folder = e["file"].split("/")[1]
    label = names.get(folder, names.get(re.sub(r"^\d+_", "", folder)))
    assert label is not None, (folder, names)
    assert e["class"] == wrong.get(e["file"], (label, label))[1], e
    assert (e["file"] in wrong) == (e["class"] != label), e
    assert e["label"] == e["top"][0]["label"] and e["probability"] == e["top"][0]["probability"]
    assert names[e["label"]] == e["class"] and len(e["top"]) == 10
    assert sorted(t["class"] for t in e["top"]) == list(range(10))
    shares = [t["probability"] for t in e["top"]]
    assert shares == sorted(shares, reverse=True) and abs(sum(shares) - 1) < 1e-5
    loss -= math.log(next(t["probability"] for t in e["top"] if t["class"] == label))
assert 0 < len(wrong) < 60, "accuracy 0 or 1 shows nothing"
assert abs(loss / 60 - evaluation["loss"]) < 1e-4 * evaluation["loss"], (loss / 60, evaluation)
PY

# Batches and threads of decoding do not matter; neither does the way to name images.
for flags in --batch_size=1 --batch_size=7 --batch_size=64 --threads=1 --threads=3; do
  "$gfpredict" --checkpoint=$step --format=json --top=10 "$flags" val >other.json 2>err.log ||
    fail "gfpredict $flags"
  python3 - <<'PY' || fail "$flags changes results"
import json
a, b = ([json.loads(line) for line in open(name)] for name in ("all.json", "other.json"))
assert len(a) == len(b)
for x, y in zip(a, b):
    assert x["file"] == y["file"] and x["class"] == y["class"], (x, y)
    shares = [{t["class"]: t["probability"] for t in e["top"]} for e in (x, y)]
    assert all(abs(shares[0][c] - shares[1][c]) < 1e-5 for c in range(10)), (x, y)
PY
done
find val -name '*.png' | LC_ALL=C sort | "$gfpredict" --checkpoint=run --format=json --top=10 - \
  >lines.json 2>err.log || fail "gfpredict -"
cmp all.json lines.json || fail "names on standard input change results"

# Odd names and damaged images.
mkdir odd
python3 - <<'PY'
import glob, os
data = open(sorted(glob.glob("val/*/*.png"))[0], "rb").read()
for name in (b'a,"b".png', b"line\nbreak.png", b"caf\xe9.png", b"caf\xc3\xa9 x.png"):
    open(b"odd/" + name, "wb").write(data)
open("odd/cut.png", "wb").write(data[:len(data) // 2])
open("odd/text.jpg", "w").write("no image")
PY
for format in json csv text; do
  "$gfpredict" --checkpoint=run --format=$format --top=2 odd missing.png >odd.$format 2>err.log
  code=$?
  [ $code = 2 ] || fail "exit code $code for damaged images"
  grep -q '^gfpredict: error: 3 of 7 images could not be predicted' err.log ||
    fail "no sentence about 3 damaged images: $(cat err.log)"
  mkdir -p empty
  "$gfpredict" --checkpoint=run --format=$format odd/a* empty odd/line* >some.$format 2>err.log
  [ $? = 2 ] && grep -q '^gfpredict: error: 1 of 3 images' err.log || fail "an empty folder"
  grep -q 'empty.*0 images' some.$format || fail "no entry of the empty folder"
done
python3 - <<'PY' || fail "a format cannot be read"
import csv, json
names = [b'odd/a,"b".png', b"odd/caf\xc3\xa9 x.png", b"odd/caf\xe9.png", b"odd/cut.png",
         b"odd/line\nbreak.png", b"odd/text.jpg", b"missing.png"]
bad = {b"odd/cut.png", b"odd/text.jpg", b"missing.png"}
lines = open("odd.json", "rb").read().decode("utf-8").splitlines()
entries = [json.loads(line) for line in lines]
assert [e["file"] for e in entries] == [n.decode("utf-8", "replace") for n in names], entries
for name, e in zip(names, entries):
    assert ("error" in e) == (name in bad) and ("label" in e) == (name not in bad), e
assert "missing.png" in entries[-1]["error"]
with open("odd.csv", encoding="utf-8", errors="surrogateescape", newline="") as file:
    rows = list(csv.DictReader(file))
assert [r["file"].encode("utf-8", "surrogateescape") for r in rows] == names, rows
good = [e for e in entries if "error" not in e]
for name, r in zip(names, rows):
    assert bool(r["error"]) == (name in bad) == (r["label1"] == ""), r
    assert None not in r and len(r) == 8, r
    if name not in bad:
        assert r["label2"] == good[0]["top"][1]["label"]
        assert int(r["class1"]) == good[0]["class"]
        assert float(r["probability1"]) == float("%.9g" % good[0]["probability"])
text = open("odd.text", "rb").read().decode("utf-8").splitlines()
assert len(text) == 7 and "line?break.png: " in text[4] and "error: " in text[3], text
assert " %, " in text[0], text
PY

# Names of classes, mistakes.
seq 100 109 >labels.txt
image=$(find val -name '*.png' | LC_ALL=C sort | head -n 1)
"$gfpredict" --checkpoint=run --labels=labels.txt --top=1 --format=json "$image" >named.json \
  2>err.log || fail "--labels"
grep -q '"label":"10[0-9]"' named.json || fail "no label of the file: $(cat named.json)"
"$gfpredict" --checkpoint=run --verbose "$image" >verbose.log 2>err.log || fail "--verbose"
grep -q 'images/s' err.log || fail "--verbose does not say how fast"
seq 3 >few.txt
expect_error 'few.txt: 3 class names, expected 10' \
  "$gfpredict" --checkpoint=run --labels=few.txt "$image"
expect_error 'no images are named' "$gfpredict" --checkpoint=run
expect_error 'format is "xml", must be text, csv or json' \
  "$gfpredict" --checkpoint=run --format=xml "$image"
expect_error 'nothing to predict with' "$gfpredict" --threads=1 "$image"
expect_error 'weights alone do not say' "$gfpredict" --weights=$step/weights.safetensors "$image"
expect_error '1 of 1 image could not be predicted' "$gfpredict" --checkpoint=run empty
expect_error 'not a checkpoint, it has no state.json' "$gfpredict" --checkpoint=empty "$image"

# Weights with a network, prepared as the job says.
"$gfpredict" --weights=$step/weights.safetensors --config=away/job.prototxt --format=json \
  --top=10 val >weights.json 2>err.log || fail "--weights --config"
python3 - <<'PY' || fail "--config changes results"
import json
a, b = ([json.loads(line) for line in open(name)] for name in ("all.json", "weights.json"))
assert len(a) == len(b)
for x, y in zip(a, b):
    assert [t["probability"] for t in x["top"]] == [t["probability"] for t in y["top"]], (x, y)
PY

# --set changes the preparation.
expect_error 'takes images of 3x28x28 but is given 3x20x20' \
  "$gfpredict" --checkpoint=run --set crop_size=20 "$image"
expect_error '--set mirror=true: mirror has no meaning' \
  "$gfpredict" --checkpoint=run --set mirror=true "$image"

# The library, from C.
python3 - <<'PY'
import struct, zlib
height, width = 40, 36
pixels = bytes((3 * y + 5 * x + 80 * c) % 256
               for y in range(height) for x in range(width) for c in range(3))
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
rows = b"".join(b"\0" + pixels[y * width * 3:(y + 1) * width * 3] for y in range(height))
open("pixels.rgb", "wb").write(pixels)
open("pixels.png", "wb").write(
    b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
    chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
PY
"$root/tests/predict/c_library_check" run pixels.png pixels.rgb 40 36 odd/cut.png >c.log 2>&1 ||
  fail "the library from C"
[ "$(cat c.log)" = PASS ] || fail "the library prints: $(cat c.log)"
"$root/tests/predict/c_threads_check" run "$image" pixels.png >threads.log 2>&1 ||
  fail "the library on two threads"
[ "$(cat threads.log)" = PASS ] || fail "the library prints: $(cat threads.log)"
"$root/predict/example" run "$image" >example.log 2>&1 || fail "example.c"
"$gfpredict" --checkpoint=run --batch_size=1 --top=1 --format=csv "$image" >one.csv 2>err.log ||
  fail "one image"
python3 - <<'PY' || fail "the library and gfpredict differ: $(cat example.log one.csv)"
import csv
row = next(csv.DictReader(open("one.csv", newline="")))
line = open("example.log").read()
assert line == "%s: class %s (%s), probability %s\n" % (
    row["file"], row["class1"], row["label1"], row["probability1"]), (row, line)
PY
"$root/predict/example" run odd/cut.png >example.log 2>&1 && fail "a damaged image is no error"
grep -q 'example: odd/cut.png: ' example.log || fail "the message does not name the image"
if command -v nm >/dev/null; then
  symbols=$(nm -D --defined-only "$root/predict/libgfpredict.so" |
    awk '$2 ~ /[A-Zu]/ && $3 !~ /^gf_/ { print $3 }')
  [ -z "$symbols" ] || fail "the library shows other symbols: $symbols"
fi

# A run's folder, and damage.
mv away/job.prototxt away/net.prototxt .
"${train[@]}" --set checkpoint.dir=other --run_dir=kept \
  --set telemetry.jsonl=kept/log.jsonl >kept.log 2>&1 || fail "a run folder"
"$gfpredict" --checkpoint=kept "$image" >kept.txt 2>err.log || fail "--checkpoint of a run folder"
"$gfeval" --checkpoint=kept >kept.log 2>&1 || fail "gfeval of a run folder"
grep -q 'weights .*other/step-00000040' kept.log || fail "not the run's checkpoint: $(cat kept.log)"
cp -r run damaged
for file in net.prototxt weights.safetensors state.json; do
  truncate -s -9 damaged/step-00000040/$file
  expect_error "damaged/step-00000040/$file" \
    "$gfpredict" --checkpoint=damaged/step-00000040 "$image"
  expect_error "none can be read" "$gfpredict" --checkpoint=damaged "$image"
  cp $step/$file damaged/step-00000040/
done

# A checkpoint of an older version goes on, but does not know its network.
cp -r run old
rm old/step-00000040/net.prototxt
files=$(python3 -c 'import json
files = json.load(open("old/step-00000040/state.json"))["files"]
assert "net.prototxt" in files
del files["net.prototxt"]
print(json.dumps(files))') || fail "state.json does not list net.prototxt"
"$root/tests/integration/forge_state" old/step-00000040/state.json files "$files" ||
  fail "forge_state"
expect_error 'has no net.prototxt.*name the job \(config\) or its network \(net\)' \
  "$gfpredict" --checkpoint=old "$image"
expect_error 'has no net.prototxt.*name the job' "$gfeval" --checkpoint=old --data=val
"$gfpredict" --checkpoint=old --net=net.prototxt --format=json --top=10 val >old.json 2>err.log ||
  fail "an old checkpoint with --net"
cmp all.json old.json || fail "an old checkpoint with --net predicts otherwise"
"$gftrain" --config=job.prototxt --set solver.max_steps=42 --set solver.warmup_steps=0 \
  --set checkpoint.dir=old --resume >resume.log 2>&1 || fail "resuming an old checkpoint"
grep -q 'resuming from old/step-00000040, step 40' resume.log || fail "no resuming"
[ -f old/step-00000042/net.prototxt ] || fail "the new checkpoint has no net"
"$gfpredict" --checkpoint=old "$image" >new.txt 2>err.log || fail "the new checkpoint"
echo PASS
