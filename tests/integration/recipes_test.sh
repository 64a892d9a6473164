#!/usr/bin/env bash
# The recipes compile without data, and their schedules have the corners that their
# sources give.
. tests/integration/lib.sh

configs=$root/configs
# schedule CONFIG RANKS: step,epoch,lr,images,density
schedule() {
  "$gftrain" --config="$configs/$1.prototxt" --print_schedule --ranks="$2" >"$1.csv" 2>"$1.log" ||
    fail "--print_schedule of $1"
  [ "$(head -n 1 "$1.csv")" = "step,epoch,lr,images,density" ] || fail "$1: header"
}

# at CONFIG STEP COLUMN EXPECTED: the value there, to 1e-6 of it.
at() {
  awk -F, -v step="$2" -v column="$3" -v expected="$4" '
    NR == 1 { for (i = 1; i <= NF; ++i) if ($i == column) k = i }
    $1 == step {
      found = 1
      difference = $k - expected
      if (difference < 0) difference = -difference
      if (difference > 1e-6 * (expected < 0 ? -expected : expected) + 1e-12) {
        print "step " step ": " column " is " $k ", expected " expected
        exit 1
      }
    }
    END { if (!found) { print "no step " step; exit 1 } }' "$1.csv" >&2 || fail "$1"
}

# steps CONFIG EXPECTED
steps() {
  [ $(($(wc -l <"$1.csv") - 1)) = "$2" ] ||
    fail "$1 has $(($(wc -l <"$1.csv") - 1)) steps, expected $2"
}

# Recipes in a type in which this processor does not compute are checked in FP32.
for config in alexnet_95ep alexnet_95ep_dense alexnet_512 resnet50_16ep resnet50_90ep \
  resnet50_mlperf_3264 resnet50_mlperf_8192 resnet50_mlperf_32768; do
  if ! "$gftrain" --config="$configs/$config.prototxt" --dry_run >"$config.dry.log" 2>&1; then
    grep -q 'BF16 is not supported here' "$config.dry.log" || fail "--dry_run of $config"
    echo "NOT TESTED: $config in BF16, in which this processor does not compute"
    "$gftrain" --config="$configs/$config.prototxt" --set compute_type=FP32 --dry_run \
      >"$config.dry.log" 2>&1 || fail "--dry_run of $config in FP32"
  fi
  grep -q "gradients" "$config.dry.log" || fail "--dry_run of $config prints no plans"
done
# The same parameters as the published networks.
grep -q "60,967,976" alexnet_95ep.dry.log || fail "parameters of AlexNet-BN"
grep -q "25,549,352" resnet50_90ep.dry.log || fail "parameters of the paper's ResNet-50"
grep -q "25,557,032" resnet50_mlperf_8192.dry.log || fail "parameters of ResNet-50 v1.5"

# 1,281,167 images / 65,536 = 19.549 steps per epoch. Quadratic warm-up from 1 to the polynomial's
# rate over ceil(15 * 19.549) = 294 of ceil(95 * 19.549) = 1858 steps.
schedule alexnet_95ep 512
steps alexnet_95ep 1858
at alexnet_95ep 0 lr 1
at alexnet_95ep 0 images 65536
at alexnet_95ep 0 density 1
peak=$(awk 'BEGIN { print 45 * (1 - 294 / 1858) ^ 2 }')
at alexnet_95ep 147 lr "$(awk -v p="$peak" 'BEGIN { print 1 + (p - 1) / 4 }')"
at alexnet_95ep 294 lr "$peak"
at alexnet_95ep 1857 lr "$(awk 'BEGIN { printf "%.10g", 45 * (1 - 1857 / 1858) ^ 2 }')"
# The density falls over the first 5 % of the steps, 92.9.
at alexnet_95ep 46 density "$(awk 'BEGIN { printf "%.10g", 1 - 0.85 * 46 / 92.9 }')"
at alexnet_95ep 93 density 0.15
schedule alexnet_95ep_dense 512
at alexnet_95ep_dense 1000 density 1
at alexnet_95ep_dense 294 lr "$peak"

# The decay of MLPerf's points begins at the end of the warm-up: ceil(31 * 19.549) = 607 of
# ceil(90 * 19.549) = 1760 steps.
schedule resnet50_90ep 512
steps resnet50_90ep 1760
at resnet50_90ep 0 lr 0
at resnet50_90ep 607 lr 24.7
at resnet50_90ep 1183 lr "$(awk 'BEGIN { printf "%.10g", 1e-4 + 24.6999 * (1 - 576 / 1153) ^ 2 }')"

# 1,281,167 / 4,096 = 312.785 steps per epoch: a straight line up in 626 steps, and down to the end.
schedule resnet50_16ep 8
steps resnet50_16ep 5005
at resnet50_16ep 313 lr 0.85
at resnet50_16ep 626 lr 1.7
at resnet50_16ep 5004 lr "$(awk 'BEGIN { printf "%.10g", 1.7 / 4379 }')"

# 1,281,167 / 3,264 = 392.51
schedule resnet50_mlperf_3264 24
steps resnet50_mlperf_3264 13739
at resnet50_mlperf_3264 0 images 3264
at resnet50_mlperf_3264 786 lr 10.5
schedule resnet50_mlperf_8192 64
steps resnet50_mlperf_8192 6569
at resnet50_mlperf_8192 782 lr 17
schedule resnet50_mlperf_32768 256
steps resnet50_mlperf_32768 2190
at resnet50_mlperf_32768 626 lr 21.2
at resnet50_mlperf_32768 2189 epoch "$(awk 'BEGIN { printf "%.10g", 2189 * 32768 / 1281167 }')"

# airbench94: from a fifth of the rate to all of it in 23 % of the steps, then down to 7 %.
"$gftrain" --config="$configs/cifar10_94.prototxt" --dry_run >cifar10_94.dry.log 2>&1 ||
  fail "--dry_run of cifar10_94"
schedule cifar10_94 1
steps cifar10_94 476
at cifar10_94 0 lr 0.3
at cifar10_94 109 lr 1.5
at cifar10_94 475 lr "$(awk 'BEGIN { printf "%.10g", 0.105 + 1.395 / 367 }')"

# 50,000 / 4,096 = 12.2 steps per epoch.
"$gftrain" --config="$configs/resnet20_cifar10_4096.prototxt" --dry_run \
  >resnet20_cifar10_4096.dry.log 2>&1 || fail "--dry_run of resnet20_cifar10_4096"
schedule resnet20_cifar10_4096 2
steps resnet20_cifar10_4096 611
at resnet20_cifar10_4096 0 images 4096
at resnet20_cifar10_4096 0 lr 0.002
at resnet20_cifar10_4096 13 lr "$(awk 'BEGIN { printf "%.10g", 0.02 * (1 - 13 / 611) }')"

# The linear rule: 0.08 for 512 images, as much for each of them on any number of ranks.
schedule alexnet_512 4
at alexnet_512 0 lr 0.08
schedule alexnet_512 32
at alexnet_512 0 lr 0.64

# A warm-up to base_lr passes the policy's rate, and a sigmoid falls through half of base_lr:
# 0.08 / (1 + exp(0.5)) four steps behind the middle.
"$gftrain" --config="$configs/alexnet_512.prototxt" --ranks=4 --print_schedule \
  --set solver.warmup_steps=10 --set solver.warmup_to_base_lr=true --set solver.lr_policy=SIGMOID \
  --set solver.step_size=20 --set solver.gamma=-0.125 --set train_data.images=20480 \
  --set solver.max_epochs=1 >sigmoid.csv 2>sigmoid.log || fail "a sigmoid: $(cat sigmoid.log)"
at sigmoid 5 lr 0.04
at sigmoid 9 lr 0.072
at sigmoid 10 lr "$(awk 'BEGIN { printf "%.10g", 0.08 / (1 + exp(-1.25)) }')"
at sigmoid 20 lr 0.04
at sigmoid 24 lr "$(awk 'BEGIN { printf "%.10g", 0.08 / (1 + exp(0.5)) }')"

# Batch-size control shows every change of the batch.
"$gftrain" --config="$configs/alexnet_512.prototxt" --ranks=4 --print_schedule=1000000 \
  --set 'solver.batch_phase[0].epoch=30' --set 'solver.batch_phase[0].iter_size=4' \
  >phases.csv 2>phases.log || fail "batch phases"
grep -q "^75069,30.000[0-9]*,.*,2048,1$" phases.csv ||
  fail "no change of the batch: $(cat phases.csv)"

# The density of TOPK falls over 4 of 8 steps; above 1/4, the limit of 4 ranks, steps send all.
for mode in TOPK LOW_RANK QUANTIZED; do
  "$gftrain" --config="$configs/alexnet_512.prototxt" --ranks=4 --print_schedule \
    --set compute_type=BF16 --set "comm.mode=$mode" --set solver.type=SGD \
    --set train_data.images=4096 --set solver.max_epochs=1 \
    --set comm.topk.density=0.0081 --set comm.topk.warmup_fraction=0.5 \
    >"$mode.csv" 2>"$mode.log" || fail "schedule of $mode: $(cat "$mode.log")"
done
[ "$(awk -F, 'NR > 1 { printf "%s ", $5 }' TOPK.csv)" = \
  "1 1 0.09 0.027 0.0081 0.0081 0.0081 0.0081 " ] || fail "density of TOPK: $(cat TOPK.csv)"
for mode in LOW_RANK QUANTIZED; do
  [ "$(awk -F, 'NR > 1 { print $5 }' "$mode.csv" | sort -u)" = 1 ] || fail "density of $mode"
done

for arguments in "--ranks=4" "--print_schedule --dry_run" "--print_schedule=-1"; do
  # shellcheck disable=SC2086
  "$gftrain" --config="$configs/alexnet_512.prototxt" $arguments >wrong.log 2>&1
  [ $? = 2 ] || fail "$arguments: exit code"
done
echo PASS
