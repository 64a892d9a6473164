#!/bin/bash
# Wrong inputs each give one clear message and exit code 2.
. tests/integration/lib.sh
make_job
train=("$gftrain" --config=job.prototxt --set solver.max_steps=2 --set solver.warmup_steps=0)

# changed FILE SED-EXPRESSION NEW: a copy of a file with something wrong in it.
changed() {
  sed -e "$2" "$1" >"$3"
  cmp -s "$1" "$3" && fail "the change \"$2\" of $1 changes nothing"
  return 0
}
# net_error PATTERN SED-EXPRESSION: a net with a mistake, trained and compiled alone.
net_error() {
  changed net.prototxt "$2" wrong_net.prototxt
  expect_error "$1" "${train[@]}" --set net=wrong_net.prototxt
  expect_error "$1" "$gftrain" --dry_run --net=wrong_net.prototxt
}

# What only validation uses.
{
  cat net.prototxt
  echo 'layer { name: "top11" type: "Accuracy" bottom: "ip2" bottom: "label" top: "top11"'
  echo '        include { phase: TEST } accuracy_param { top_k: 11 } }'
} >top11.prototxt
expect_error 'layer "top11".*with 10 classes it must be in 1..10: change it, or remove the layer' \
  "${train[@]}" --set net=top11.prototxt --dry_run
"${train[@]}" --dry_run --set validation_data.source=absent --set validation_data.crop_size=0 \
  >dry.log 2>&1 || fail "a dry run without the data of validation"
grep -q 'warning: the phase TEST was not checked: validation_data: .*absent' dry.log ||
  fail "does not say that the phase TEST was not checked"

# The command line.
expect_error 'unknown flag --confg; did you mean --config' "$gftrain" --confg=job.prototxt
expect_error '"job.prototxt" is not a flag' "$gftrain" job.prototxt
expect_error '--config needs a value' "$gftrain" --config
expect_error '--config is missing' "$gftrain" --deterministic
expect_error '--max_steps: "many"' "${train[@]}" --max_steps=many
expect_error '--max_steps is 0, must be at least 1' "${train[@]}" --max_steps=0
expect_error '--batch_size goes with --dry_run' "${train[@]}" --batch_size=4
expect_error '--phase goes with --dry_run' "${train[@]}" --phase=TEST
expect_error '--print_schedule is 0, must be at least 1' "${train[@]}" --print_schedule=0
if [ -c /dev/full ]; then
  "${train[@]}" --print_schedule >/dev/full 2>err.log
  [ $? = 2 ] || fail "output to a full device: not exit code 2"
  grep -q '^gftrain: error: cannot write to standard output: No space left' err.log ||
    fail "output to a full device: $(cat err.log)"
fi
# Ranks with different flags end with one message.
differ() { # differ PATTERN FLAG: the first rank of two has a flag that the second has not
  expect_error "$1" "${two_ranks[@]}" "$2" '' "${train[@]}"
}
differ 'ranks disagree on --timeline_steps: 1:1 on rank 0.*, not set on rank 1' --timeline_steps=1:1
differ 'ranks disagree on --dry_run: true on rank 0' --dry_run
differ 'ranks disagree on --max_steps: 1 on rank 0' --max_steps=1
# Without standard output, files of the job hold what belongs to them.
"${train[@]}" --set telemetry.jsonl=closed.jsonl >&- 2>err.log || fail "closed: $(cat err.log)"
! grep -qv '^{' closed.jsonl || fail "closed standard output: $(cat closed.jsonl)"
expect_error 'none.prototxt' "$gftrain" --config=none.prototxt
expect_error '--input' "$gftrain" --dry_run --net=net.prototxt --input=3x28
expect_error '--set goes with --config or --solver' \
  "$gftrain" --dry_run --net=net.prototxt --set threads=1
changed net.prototxt 's/"SoftmaxWithLoss" bottom: "ip2" bottom: "label"/"Softmax" bottom: "ip2"/' \
  deploy.prototxt
expect_error 'deploy.prototxt: the net has no SoftmaxWithLoss, .* HingeLoss in phase TRAIN: there' \
  "${train[@]}" --set net=deploy.prototxt
"$gftrain" >out.log 2>&1
[ $? = 2 ] || fail "no arguments: not exit code 2"
"$gftrain" --help >out.log 2>&1 || fail "--help: not exit code 0"
"$gftrain" --version >out.log 2>&1 || fail "--version: not exit code 0"

# The config.
expect_error 'solver.base_lrr|base_lrr.*base_lr' "${train[@]}" --set solver.base_lrr=1
changed job.prototxt 's/base_lr:/base_lrr:/' wrong.prototxt
expect_error 'wrong.prototxt:[0-9]+:[0-9]+: .*base_lrr.*base_lr' "$gftrain" --config=wrong.prototxt
expect_error '^gftrain: error: --set solver.momentum=2: solver.momentum is 2, must be less than 1' \
  "${train[@]}" --set solver.momentum=2
expect_error 'SDG: solver.type is "SDG", must be AdaDelta, .* or SGD; did you mean "SGD"\?' \
  "${train[@]}" --set solver.type=SDG
expect_error 'solver.type is "nesterov", must be .*; write type SGD with nesterov: true' \
  "${train[@]}" --set solver.type=nesterov
# Names of Caffe's and PyTorch's solvers, in another case.
for type in AdaDelta AdaGrad Adam AdamW Muon RMSProp; do
  expect_error "must be .*; did you mean \"$type\"\?" "${train[@]}" --set solver.type="${type,,}"
done
expect_error 'unknown command "compute_image_mean": .*gfdata stats SOURCE --mean_file=FILE here' \
  "$gfdata" compute_image_mean lmdb mean.binaryproto
expect_error 'solver.warmup_steps.*20' "$gftrain" --config=job.prototxt --set solver.max_steps=20
expect_error 'solver.batch_phase\[1\].epoch is 1, must be greater than' "${train[@]}" \
  --set 'solver.batch_phase[0].epoch=2' --set 'solver.batch_phase[0].iter_size=2' \
  --set 'solver.batch_phase[1].epoch=1' --set 'solver.batch_phase[1].iter_size=1'
changed job.prototxt 's/base_lr: [0-9.]*/base_lr: 0/' wrong.prototxt
expect_error 'wrong.prototxt:[0-9]+:[0-9]+: solver.base_lr is 0, must be greater than 0' \
  "$gftrain" --config=wrong.prototxt
expect_error 'init\[0\].pattern: "fc.weight" fits none of the net.s 7 parameters' "${train[@]}" \
  --set 'init[0].pattern=fc.weight' --set 'init[0].filler.type=constant'
expect_error 'batch_norm_group: groups of 2 do not fill 1 rank' \
  "${train[@]}" --set batch_norm_group=2
expect_error 'train_data.images: there are 300 images at data/.*expected 301' "${train[@]}" \
  --set train_data.images=301
expect_error '--set device=gpu: device is "gpu", must be cpu or cuda: set "cpu", or "cuda"' \
  "${train[@]}" --set device=gpu

# A checkpoint that grows beyond the limit of file sizes is an error with advice.
expect_error 'cannot write .*File too large .*ulimit -f' bash -c 'ulimit -f 8; exec "$@"' limited \
  "${train[@]}" --set checkpoint.dir=limited

# The net.
net_error 'wrong_net.prototxt:[0-9]+:[0-9]+: .*kernel_sizee' 's/kernel_size/kernel_sizee/'
net_error 'Convolutoin' 's/"Convolution"/"Convolutoin"/'
net_error 'nowhere' 's/bottom: "ip2"/bottom: "nowhere"/'
net_error 'conv1' 's/kernel_size: 3/kernel_size: 99/'
cat >cycle.prototxt <<'NET'
layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 1 } } }
layer { name: "a" type: "ReLU" bottom: "y" top: "x" }
layer { name: "b" type: "ReLU" bottom: "x" top: "y" }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "y" bottom: "label" top: "loss" }
NET
expect_error 'cycle|"y"|blob y' "$gftrain" --dry_run --net=cycle.prototxt
cat >mismatch.prototxt <<'NET'
layer { name: "data" type: "Input" top: "data" top: "more"
        input_param { shape { dim: [2, 3, 8, 8] } shape { dim: [2, 3, 9, 9] } } }
layer { name: "sum" type: "Eltwise" bottom: "data" bottom: "more" top: "sum" }
NET
expect_error '"sum".*2x3x9x9.*2x3x8x8' "$gftrain" --dry_run --net=mismatch.prototxt
changed net.prototxt 's/num_output: 10/num_output: 7/' seven.prototxt
expect_error 'train-000000.tar:train-[0-9]+:[0-9]+: label' "${train[@]}" --set net=seven.prototxt

# The data.
expect_error 'nothing' "${train[@]}" --set 'train_data.source=nothing/*.tar'
mkdir empty
expect_error 'empty' "${train[@]}" --set train_data.source=empty
mkdir cut
head -c 100000 data/train-000000.tar >cut/train-000000.tar
expect_error 'cut/train-000000.tar' "${train[@]}" --set train_data.source=cut/train-000000.tar
timeout 60 "${train[@]}" --set train_data.source=cut/train-000000.tar \
  --set train_data.on_error=SKIP --set checkpoint.dir=skip >skip.log 2>&1 ||
  fail "on_error: SKIP of a truncated shard"
mkdir -p folder/a folder/b
for i in 1 2 3 4 5 6 7 8 9; do
  printf 'no image' >folder/a/$i.jpg
  printf 'no image' >folder/b/$i.png
done
expect_error 'folder/[ab]/[0-9].(jpg|png)' "${train[@]}" --set train_data.source=folder

# A damaged image stops training in the step that needs it, and not before the last one is saved.
mkdir damaged
python3 - <<'PY'
import tarfile
path = "data/train-000000.tar"
images = [m for m in tarfile.open(path) if not m.name.endswith(".cls")]
data = bytearray(open(path, "rb").read())
bad = images[44]  # of the fifth batch of ten
data[bad.offset_data:bad.offset_data + bad.size] = bytes(bad.size)
open("damaged/train-000000.tar", "wb").write(data)
PY
expect_error 'damaged/train-000000.tar' "${train[@]}" \
  --set train_data.shuffle=false --set solver.max_steps=20 \
  --set train_data.source=damaged/train-000000.tar --set checkpoint.interval_steps=1 \
  --set checkpoint.dir=before_damage
[ -d before_damage/step-00000004 ] || fail "no checkpoint of the step before the damaged image"

# Checkpoints.
"${train[@]}" --set checkpoint.dir=good >good.log 2>&1 || fail "a good run"
expect_error 'already holds later checkpoints' "${train[@]}" --set checkpoint.dir=good
expect_error 'x.safetensors' "${train[@]}" --set checkpoint.dir=new/run --weights=x.safetensors
[ ! -e new ] || fail "a failed start leaves its folder for checkpoints: $(ls -a new/run)"
changed net.prototxt 's/num_output: 32/num_output: 33/' wider.prototxt
expect_error 'of another shape.*ip1.weight|ip[12]\.(weight|bias) \(file' "${train[@]}" \
  --set checkpoint.dir=good --set net=wider.prototxt --resume
changed net.prototxt 's/name: "ip2"/name: "ip3"/' renamed.prototxt
expect_error 'missing in the file: ip3' "$gfeval" --config=job.prototxt \
  --weights=good/step-00000002/weights.safetensors --set net=renamed.prototxt
expect_error 'ip2.weight has the shape 10x32 .*, expected 10x33 .*--weights_skip="ip2\.\*"' \
  "${train[@]}" --set checkpoint.dir= --weights=good/step-00000002 --set net=wider.prototxt
expect_error '--weights_skip leaves nothing to load' "${train[@]}" --set checkpoint.dir= \
  --weights=good/step-00000002 --weights_skip='*'
expect_error '--weights_skip: "ip9.*" fits none' "${train[@]}" --set checkpoint.dir= \
  --weights=good/step-00000002 --weights_skip='ip9.*'
expect_error '--weights_skip goes with --weights' "${train[@]}" --weights_skip='ip1.*'
expect_error 'freeze\[0\]: "ip9.*" fits none' "${train[@]}" --set freeze='ip9.*'
expect_error 'freeze: fits all parameters' "${train[@]}" --set freeze='*'
"${train[@]}" --weights=good/step-00000002 --set checkpoint.dir= --max_steps=1 >good.log 2>&1 ||
  fail "a checkpoint's folder as weights"
expect_error 'data/train-000000.tar' "${train[@]}" --weights=data/train-000000.tar
expect_error 'no valid checkpoint' "$gfeval" --config=job.prototxt --set checkpoint.dir=none
printf 'x' >file
expect_error 'file' "${train[@]}" --set checkpoint.dir=file/sub
expect_error '/proc/nowhere' "${train[@]}" --set checkpoint.dir=/proc/nowhere
expect_error 'none/log.jsonl' "${train[@]}" --set telemetry.jsonl=none/log.jsonl

# A full disk: noticed before training, or (files limited to 64 KiB) when a checkpoint fails.
if unshare -rm true 2>/dev/null; then
  mkdir full
  expect_error 'free space' unshare -rm sh -c \
    'mount -t tmpfs -o size=64k none full && exec "$@"' sh "${train[@]}" \
    --set checkpoint.dir=full/run
else
  echo "NOTE: no mount name spaces here, the test with a full tmpfs is left out"
fi
(
  trap '' XFSZ
  ulimit -f 64
  expect_error 'checkpoint of step 2 failed: cannot write' "${train[@]}" \
    --set checkpoint.dir=limited
) || exit 1
ls -d limited/.tmp-step* limited/step-* >/dev/null 2>&1 &&
  fail "a failed checkpoint left something behind"

expect_error 'diverged' "${train[@]}" --set solver.base_lr=1e30 --set checkpoint.dir=diverged

# Several ranks: still one message, and nobody hangs.
expect_error '^gftrain: error: wrong_net.prototxt:.*conv1' \
  "$mpirun" -np 2 "$gftrain" --config=job.prototxt --set net=wrong_net.prototxt
expect_error 'ranks disagree on solver.base_lr: 0.02 on rank 0 .*0.03 on rank 1' \
  "${two_ranks[@]}" '' '--set solver.base_lr=0.03' "$gftrain" --config=job.prototxt
# What the ranks send each other is decided by these.
while read -r mode setting here there; do
  wire=(--set comm.wire_type=BF16)
  [ "$mode" = AUTO ] && wire=() # AUTO chooses it
  expect_error "ranks disagree on $setting: $here on rank 0 .*$there on rank 1" \
    "${two_ranks[@]}" "--set $setting=$here" "--set $setting=$there" "$gftrain" \
    --config=job.prototxt --set "comm.mode=$mode" "${wire[@]}" </dev/null
done <<'DIFFERENCES'
LAZY comm.error_feedback false true
LAZY comm.wire_type FP32 FP16
SPARSE comm.sparse.density 0.15 0.2
SPARSE comm.sparse.chunk_size 1000 2000
TOPK comm.topk.density 0.01 0.02
LOW_RANK comm.low_rank.rank 4 2
LOW_RANK comm.low_rank.warmup_fraction 0.1 0.2
QUANTIZED comm.quantized.bits 8 4
QUANTIZED comm.quantized.rotate false true
PERIODIC comm.periodic.steps 4 8
PERIODIC comm.periodic.outer_momentum 0 0.9
PERIODIC comm.periodic.exchange LAZY TOPK
AUTO comm.auto.exposed 0.05 0.1
AUTO comm.sparse.chunk_size 1000 2000
AUTO comm.algorithm ring auto
DIFFERENCES
expect_error 'ranks disagree on comm.mode: LOW_RANK on rank 0 .*QUANTIZED on rank 1' \
  "${two_ranks[@]}" '--set comm.mode=LOW_RANK' '--set comm.mode=QUANTIZED' "$gftrain" \
  --config=job.prototxt
expect_error 'ranks disagree on comm.mode: AUTO on rank 0 .*LAZY on rank 1' \
  "${two_ranks[@]}" '--set comm.mode=AUTO' '--set comm.mode=LAZY' "$gftrain" --config=job.prototxt
# Not wrong, but in vain.
for when in --dry_run --max_steps=1; do
  "$mpirun" -np 2 "${train[@]}" "$when" --set checkpoint.dir= --set comm.mode=TOPK \
    --set comm.topk.density=0.9 >vain.log 2>&1 || fail "TOPK with much density, $when"
  [ "$(grep -c 'warning: TOPK equals LAZY .* on 2 ranks' vain.log)" = 1 ] ||
    fail "no warning of TOPK with much density, $when"
done

# The same words on both ranks, but another file behind them.
for folder in a b; do
  mkdir "$folder"
  cp job.prototxt net.prototxt "$folder"
  ln -s ../data "$folder/data"
done
sed -i 's/type: "Dropout"/& dropout_param { dropout_ratio: 0.4 }/' b/net.prototxt
expect_error 'ranks disagree on the net' "$mpirun" -np 2 sh -c \
  'if [ "$OMPI_COMM_WORLD_RANK" = 0 ]; then cd a; else cd b; fi && exec "$@"' sh \
  "$gftrain" --config=job.prototxt

# A rank whose mpirun is gone before MPI starts would be a world of its own.
HOME=$PWD OMPI_COMM_WORLD_SIZE=3 timeout 120 "$gftrain" --config=job.prototxt >out.log \
  2>err.log
code=$?
[ $code = 3 ] || fail "exit code $code instead of 3 of a rank without mpirun"
grep -q 'one of 3 ranks, but MPI finds 1: mpirun has probably ended' err.log ||
  fail "a rank without mpirun says: $(cat err.log)"
echo PASS
