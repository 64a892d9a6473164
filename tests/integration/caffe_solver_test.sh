#!/bin/bash
# gftrain --solver: a Caffe solver with its net's data layers, LMDBs and mean image, unchanged; the
# job that it writes; the public solvers of GF_DATA_DIR/caffe-solvers.
. tests/integration/lib.sh
"$gfdata" draw --out=drawn --images=600 --size=32 --seed=7 >draw.log 2>&1 || fail "gfdata draw"
for set in train val; do
  "$gfdata" convert --from="drawn/$set-*.tar" --to="examples/${set}_lmdb" --format=lmdb \
    >convert.log 2>&1 || fail "convert $set"
done
"$gfdata" stats examples/train_lmdb --mean_file=examples/mean.binaryproto >mean.log 2>&1 ||
  fail "mean image"

cat >examples/net.prototxt <<'NET'
name: "small"
layer {
  name: "images" type: "Data" top: "data" top: "label" include { phase: TRAIN }
  transform_param { mean_file: "examples/mean.binaryproto" scale: 0.015625 crop_size: 28
                    mirror: true }
  data_param { source: "examples/train_lmdb" batch_size: 25 backend: LMDB }
}
layer {
  name: "images" type: "Data" top: "data" top: "label" include { phase: TEST }
  transform_param { mean_file: "examples/mean.binaryproto" scale: 0.015625 crop_size: 28 }
  data_param { source: "examples/val_lmdb" batch_size: 20 backend: LMDB }
}
layer {
  name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  convolution_param { num_output: 16 kernel_size: 5 stride: 2 weight_filler { type: "xavier" } }
}
layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
layer {
  name: "ip1" type: "InnerProduct" bottom: "conv1" top: "ip1"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } }
}
layer { name: "accuracy" type: "Accuracy" bottom: "ip1" bottom: "label" top: "accuracy"
        include { phase: TEST } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip1" bottom: "label" top: "loss" }
NET
cat >examples/solver.prototxt <<'SOLVER'
net: "examples/net.prototxt"
test_iter: 10
test_interval: 60
base_lr: 0.01
momentum: 0.9
weight_decay: 0.0005
lr_policy: "inv"
gamma: 0.0001
power: 0.75
display: 50
max_iter: 200
snapshot: 100
snapshot_prefix: "examples/small"
solver_mode: GPU
SOLVER

train=("$gftrain" --solver=examples/solver.prototxt --set device=cpu --deterministic)
"${train[@]}" --set telemetry.jsonl=log.jsonl >train.log 2>&1 || fail "training"
grep -q 'examples/solver.prototxt as a job: examples/small/job.prototxt' train.log ||
  fail "does not name the job"
[ "$(ls examples/small | tr '\n' ' ')" = "job.prototxt step-00000100 step-00000200 " ] ||
  fail "checkpoints: $(ls examples/small)"
python3 - <<'PY' || fail "the log"
import json
lines = [json.loads(line) for line in open("log.jsonl")]
tests = [line["step"] for line in lines if line["kind"] == "validation"]
assert tests == [0, 60, 120, 180, 200], tests
top1 = [line["top1"] for line in lines if line["kind"] == "validation"]
assert top1[-1] > top1[0] + 0.1, top1
PY

# The job does the same, from any folder.
(mkdir elsewhere && cd elsewhere &&
  "$gftrain" --config=../examples/small/job.prototxt --set checkpoint.dir=again --deterministic &&
  "$gfeval" --config=../examples/small/job.prototxt) >again.log 2>&1 || fail "the job"
same_weights examples/small/step-00000200 elsewhere/again/step-00000200

# Weights that the solver names, until there is a checkpoint.
sed '$a weights: "examples/small/step-00000100/weights.safetensors"' examples/solver.prototxt \
  >weights.prototxt
for resume in "" --resume; do
  "$gftrain" --solver=weights.prototxt --set device=cpu --set checkpoint.dir=from_weights \
    --max_steps=1 $resume >weights.log 2>&1 || fail "weights of the solver"
done
grep -q 'resuming from from_weights' weights.log || fail "a checkpoint comes before weights"
rm -r from_weights
"$gftrain" --solver=weights.prototxt --set device=cpu --set checkpoint.dir=from_weights \
  --max_steps=1 --resume >weights.log 2>&1 || fail "weights of the solver and --resume"
grep -q 'starting from the weights of examples/small' weights.log || fail "weights were left out"

# A solver continues, and other ranks know the job, too.
rm -r examples/small/step-00000200
"${train[@]}" --resume >resume.log 2>&1 || fail "resume"
same_weights examples/small/step-00000200 elsewhere/again/step-00000200
"$mpirun" -np 2 "${train[@]}" --set checkpoint.dir=two --max_steps=10 >two.log 2>&1 ||
  fail "two ranks"
"$gftrain" --solver=examples/solver.prototxt --dry_run >dry.log 2>&1 || fail "dry run"

# Lists of the same images.
"$gfdata" convert --from=examples/train_lmdb --to=images --format=folder >convert.log 2>&1 ||
  fail "convert to a folder"
"$gfdata" convert --from=examples/val_lmdb --to=tests --format=folder >>convert.log 2>&1 ||
  fail "convert to a folder"
list() { # FOLDER: "path class" of its images, in a list that lies elsewhere
  (cd "$1" && find . -name '*.png' | sort | sed 's|^\./\([0-9]*\)\(.*\)|\1\2 \1|')
}
list images >examples/train.txt && list tests >examples/val.txt
python3 - <<'PY' || fail "the net of lists"
text = open("examples/net.prototxt").read()
text = text.replace('type: "Data"', 'type: "ImageData"')
for lmdb, batch, name, root in (("train", 25, "train", "images/"), ("val", 20, "val", "tests/")):
    text = text.replace(
        f'data_param {{ source: "examples/{lmdb}_lmdb" batch_size: {batch} backend: LMDB }}',
        f'image_data_param {{ source: "examples/{name}.txt" root_folder: "{root}" '
        f'batch_size: {batch} shuffle: true }}')
assert text.count("image_data_param") == 2, text
open("examples/lists.prototxt", "w").write(text)
PY
sed 's/net.prototxt/lists.prototxt/; s/small/lists/' examples/solver.prototxt >lists_solver.prototxt
"$gftrain" --solver=lists_solver.prototxt --set device=cpu --max_steps=2 >lists.log 2>&1 ||
  fail "lists of images"
grep -q 'LIST, 600 images, 10 classes' lists.log || fail "the list"
(cd elsewhere && "$gftrain" --config=../examples/lists/job.prototxt --set checkpoint.dir=lists \
  --max_steps=1) >lists.log 2>&1 || fail "the job of lists"

# Mistakes.
expect_error 'give --config or --solver, not both' \
  "$gftrain" --solver=examples/solver.prototxt --config=x
expect_error 'examples/net.prototxt does not exist: paths in a Caffe solver' \
  sh -c "cd elsewhere && exec '$gftrain' --solver=../examples/solver.prototxt"
sed 's/lr_policy: "inv"/lr_policy: "plateau"/' examples/solver.prototxt >plateau.prototxt
expect_error 'plateau.prototxt:7:1: lr_policy is "plateau", must be fixed' \
  "$gftrain" --solver=plateau.prototxt
expect_error 'gftrain --solver=FILE' "$gftrain" --config=examples/solver.prototxt

solvers=${GF_DATA_DIR-}/caffe-solvers
if [ ! -d "$solvers" ]; then
  echo "SKIPPED: the public solvers: GF_DATA_DIR is not set or has no caffe-solvers"
  exit 0
fi
cp -rL "$solvers" public && chmod -R u+w public && cd public || fail "copy"
make_lmdb() { # FROM TO [MEAN_FILE]
  "$gfdata" convert --from="$1" --to="$2" --format=lmdb --force >"$work/convert.log" 2>&1 ||
    fail "convert $2"
  [ $# = 2 ] || "$gfdata" stats "$2" --mean_file="$3" >"$work/mean.log" 2>&1 || fail "mean image $3"
}
mkdir -p bvlc/data/ilsvrc12
"$gfdata" draw --out=large --images=40 --size=256 --seed=3 >"$work/draw.log" 2>&1 || fail "draw"
"$gfdata" convert --from="../drawn/train-*.tar" --to=gray --format=idx --grayscale --resize=28 \
  >"$work/convert.log" 2>&1 || fail "gray images"

# run SOLVER STEPS OPTIONS...: its folder of snapshots must hold the last step.
run() {
  local solver=$1 steps=$2
  shift 2
  "$gftrain" --solver="$solver" --max_steps="$steps" --set device=cpu --run_dir="runs/$solver" \
    "$@" >"$work/public.log" 2>&1 || fail "$solver"
  [ -d "$(sed -n 's/^ *dir: "\(.*\)"/\1/p' "runs/$solver/config.prototxt")/$(printf \
    step-%08d "$steps")" ] || fail "$solver: no checkpoint of step $steps"
}

cd bvlc || fail "no bvlc"
make_lmdb ../gray/images-idx3-ubyte examples/mnist/mnist_train_lmdb
make_lmdb ../gray/images-idx3-ubyte examples/mnist/mnist_test_lmdb
make_lmdb "../../drawn/train-*.tar" examples/cifar10/cifar10_train_lmdb \
  examples/cifar10/mean.binaryproto
make_lmdb "../../drawn/val-*.tar" examples/cifar10/cifar10_test_lmdb
make_lmdb "../large/train-*.tar" examples/imagenet/ilsvrc12_train_lmdb \
  data/ilsvrc12/imagenet_mean.binaryproto
make_lmdb "../large/val-*.tar" examples/imagenet/ilsvrc12_val_lmdb
run examples/mnist/lenet_solver.prototxt 20
# Both solvers of LeNet have one snapshot_prefix.
expect_error 'already holds later checkpoints' "$gftrain" --set device=cpu \
  --solver=examples/mnist/lenet_solver_adam.prototxt
run examples/mnist/lenet_solver_adam.prototxt 20 --set checkpoint.dir=examples/mnist/lenet_adam
run examples/cifar10/cifar10_quick_solver.prototxt 20
small=(--set train_data.batch_size=4 --set validation_data.batch_size=4)
run models/bvlc_reference_caffenet/solver.prototxt 2 "${small[@]}"

# NVIDIA's: one net lies at an absolute path, and one solver names a net that its authors left out.
cd ../nvidia || fail "no nvidia"
mkdir -p examples data && cp -r ../bvlc/examples/imagenet examples/ && cp -r ../bvlc/data/* data/
mean=data/ilsvrc12/imagenet_mean.binaryproto
run models/alexnet_bn/solver.prototxt 2 "${small[@]}"
run models/alexnet_bn/solver_32k.prototxt 2 "${small[@]}" \
  --set net=models/alexnet_bn/train_val2.prototxt
run models/resnet50/solver.prototxt 2 "${small[@]}"
fp16=()
if ! "$gftrain" --config="$work/examples/small/job.prototxt" --set compute_type=BF16 --dry_run \
  >"$work/bf16.log" 2>&1; then
  grep -q 'set compute_type: FP32' "$work/bf16.log" || fail "dry run in BF16"
  echo "NOT TESTED: BF16, in which this processor does not compute"
  fp16=(--set compute_type=FP32)
fi
run models/resnet50/solver_fp16.prototxt 2 "${small[@]}" "${fp16[@]}" \
  --set train_data.source=examples/imagenet/ilsvrc12_train_lmdb --set train_data.mean_file=$mean \
  --set validation_data.source=examples/imagenet/ilsvrc12_val_lmdb \
  --set validation_data.mean_file=$mean
echo PASS
