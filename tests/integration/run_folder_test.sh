#!/usr/bin/env bash
# What a run tells of itself: --run_dir, --tensorboard.
. tests/integration/lib.sh
reader=$root/tests/integration/read_events.py
make_job
sed -i 's/ jsonl: "log.jsonl"//; s/dir: "run"/dir: "checkpoints"/' job.prototxt

train() { # NAME ARGUMENTS...
  local name=$1
  shift
  on_ranks 2 "$gftrain" "$@" --set threads=1 >"$name.log" 2>&1 || fail "$name"
}

train first --config=job.prototxt --run_dir=runs/a --tensorboard --max_steps=100 \
  --timeline_steps=20:21 --set solver.base_lr=0.03 --set validation_interval_epochs=1
[ "$(cd runs/a && ls | sed 's/\(tfevents\).*/\1/' | paste -s -d' ')" = \
  "config.prototxt events.out.tfevents log.jsonl timeline.json" ] || fail "runs/a: $(ls runs/a)"

# The events are the log's numbers.
python3 "$reader" runs/a/events.out.tfevents.* >events.txt || fail "the event file"
python3 - runs/a/log.jsonl events.txt <<'PYTHON' || fail "events and log differ"
import json, struct, sys
single = lambda x: struct.unpack("<f", struct.pack("<f", x))[0]
expected = []
for line in open(sys.argv[1]):
    r = json.loads(line)
    names = {"train": ["train/loss", "train/lr", "train/epoch", "speed/images_per_s",
                       "speed/data_wait", "speed/comm_ms"],
             "validation": ["validation/top1", "validation/top5", "validation/loss"]}
    for name in names.get(r["kind"], []):
        expected.append((r["step"], name, single(r[name.split("/")[1]])))
found = []
for line in open(sys.argv[2]):
    step, name, value = line.split()
    found.append((int(step), name, single(float(value))))
print(found, expected, sep="\n")
sys.exit(found != expected or len(found) < 12)
PYTHON

# A damaged record is seen, so the sums of the others were right.
cp runs/a/events.out.tfevents.* damaged
printf '\001' | dd of=damaged bs=1 seek=70 conv=notrunc status=none
python3 "$reader" damaged >/dev/null 2>&1 && fail "the reader does not check sums"

# The folder is of one run.
expect_error 'runs/a holds a run already .runs/a/log.jsonl.: continue it with --resume' \
  "$gftrain" --config=job.prototxt --run_dir=runs/a
train resumed --config=job.prototxt --run_dir=runs/a --tensorboard --resume --max_steps=150
[ "$(grep -c '"kind":"start"' runs/a/log.jsonl)" = 2 ] || fail "the log does not go on"
# Not through a pipe, which grep -q closes early.
python3 "$reader" runs/a/events.out.tfevents.* >resumed.txt || fail "the resumed run's events"
grep -q '^150 train/loss' resumed.txt || fail "no step 150"

# The resolved config works from anywhere, and is that run's.
mkdir elsewhere && mv job.prototxt moved
cp runs/a/config.prototxt saved
(cd elsewhere &&
  train again --config="$work/saved" --run_dir=b --set checkpoint.dir= --max_steps=50) || exit 1
grep -q 'base_lr: 0.02$' saved || fail "the second run's rate is not in its config"
sed -i 's/base_lr: 0.02$/base_lr: 0.03/' saved
(cd elsewhere &&
  train like --config=../saved --run_dir=c --set checkpoint.dir= --max_steps=50) || exit 1
loss() { grep -m1 '"step":50' "$1" | sed 's/.*"loss":\([0-9.]*\).*/\1/'; }
[ "$(loss elsewhere/c/log.jsonl)" = "$(loss runs/a/log.jsonl)" ] || fail "other losses than before"
[ "$(loss elsewhere/b/log.jsonl)" != "$(loss runs/a/log.jsonl)" ] || fail "base_lr changes nothing"

mv moved job.prototxt
expect_error '--tensorboard writes next to the log: give --run_dir=FOLDER' \
  "$gftrain" --config=job.prototxt --tensorboard
touch file
expect_error 'file' "$gftrain" --config=job.prototxt --run_dir=file
echo PASS
