#!/bin/bash
# gfexport writes a job's checkpoint, or a network's weights, as ONNX, and refuses mistakes.
. tests/integration/lib.sh
gfexport=$root/tools/gfexport
make_job
"$gftrain" --config=job.prototxt --set solver.max_steps=20 --set solver.warmup_steps=0 \
  >train.log 2>&1 || fail "training"
weights=run/step-00000020/weights.safetensors
rm -r data # nothing below opens the images

# write_model FILE FLAGS...
write_model() {
  local file=$1
  shift
  "$gfexport" "$@" --onnx="$file" >export.log 2>&1 || fail "gfexport $*"
}
# Fields by their numbers: 1 and 2 of a model are the version of the format and the producer, 14 the
# entries, 7 the graph, whose nodes are 1.
raw() { protoc --decode_raw <"$1"; }
# has_entry FILE KEY PATTERN
has_entry() {
  local entry
  entry=$(raw "$1" | grep -A1 -F "  1: \"$2\"")
  grep -q -- "$3" <<<"$entry" || fail "$1: no $2 with $3"
}

write_model job.onnx --config=job.prototxt
grep -q 'input    data Nx3x28x28' export.log || fail "the input"
grep -q 'output   ip2 Nx10' export.log || fail "the output"
raw job.onnx >job.txt
grep -q '^1: 8$' job.txt && grep -q '^2: "gradientflow"$' job.txt || fail "the head of the model"
grep -q '    4: "BatchNormalization"' job.txt && fail "the batch norm was not folded"
has_entry job.onnx gf.mean '2: "\[128\]"'
has_entry job.onnx gf.std '2: "\[64\]"'
has_entry job.onnx gf.crop_size '2: "28"'
has_entry job.onnx gf.channels '2: "RGB"'
has_entry job.onnx gf.class_names 'disc'

write_model nodes.onnx --config=job.prototxt --preprocess=nodes --softmax --batch=5 \
  --nofold_batch_norm --checkpoint=run/step-00000020
grep -q 'input    data 5x3x28x28' export.log && grep -q 'output   prob 5x10' export.log ||
  fail "a fixed batch with probabilities: $(cat export.log)"
raw nodes.onnx >nodes.txt
for op in Cast Sub Div BatchNormalization Softmax; do
  grep -q "    4: \"$op\"" nodes.txt || fail "no $op"
done
grep -q 'gf.mean' nodes.txt && fail "a mean that the nodes subtract already"

# A checkpoint and its weights are one model, apart from the names of the classes.
write_model config.onnx --config=job.prototxt --preprocess=none
write_model net.onnx --net=net.prototxt --weights=$weights
cmp config.onnx net.onnx || fail "the config and the network make different models"
cmp <(raw job.onnx | grep -c '^14') <(echo 5) || fail "$(raw job.onnx | grep -c '^14') entries"
# A checkpoint alone says what its job says.
write_model alone.onnx --checkpoint=run
cmp job.onnx alone.onnx || fail "the checkpoint and the config make different models"
write_model random.onnx --net=net.prototxt --random_weights
cmp -s random.onnx net.onnx && fail "random weights are those of the file"

expect_error '--onnx is missing' "$gfexport" --config=job.prototxt
expect_error 'name what to export' "$gfexport" --onnx=x.onnx
expect_error '--weights is missing' "$gfexport" --net=net.prototxt --onnx=x.onnx
expect_error 'give --random_weights, or' "$gfexport" --net=net.prototxt --onnx=x.onnx \
  --random_weights --weights=$weights
expect_error 'none is not a file or folder' "$gfexport" --config=job.prototxt --onnx=x.onnx \
  --set checkpoint.dir=none
expect_error '--batch is -1' "$gfexport" --config=job.prototxt --onnx=x.onnx --batch=-1
expect_error 'expected metadata, nodes or none' "$gfexport" --config=job.prototxt --onnx=x.onnx \
  --preprocess=some
expect_error "--preprocess=nodes needs a job's mean and std" "$gfexport" --net=net.prototxt \
  --weights=$weights --onnx=x.onnx --preprocess=nodes
expect_error 'expected channels, height and width' "$gfexport" --net=net.prototxt \
  --weights=$weights --onnx=x.onnx --input=3x28
expect_error 'cannot write none/x.onnx' "$gfexport" --config=job.prototxt --onnx=none/x.onnx
[ -e x.onnx ] && fail "a model in spite of an error"
echo PASS
