// Costs of layers against numbers worked out by hand.

#include "solvers/estimate/step_estimate.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "core/error.h"
#include "core/estimate/gpu.h"
#include "tests/models/net_for_test.h"

namespace gf {
namespace {

// Blobs of two images; elements: data 800, conv1 1600, conv2, bn1, conv3 and bn2 3200, pool 800.
// conv2's shortcut around conv3 becomes part of bn2, as the ReLUs do of bn1 and bn2.
constexpr char kResidual[] = R"(
  layer { name: "data" type: "Input" top: "data" input_param { shape { dim: [2, 4, 10, 10] } } }
  layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 2 } } }
  layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
          convolution_param { num_output: 8 kernel_size: 1 bias_term: false } }
  layer { name: "conv2" type: "Convolution" bottom: "conv1" top: "conv2"
          convolution_param { num_output: 16 kernel_size: 3 pad: 1 } }
  layer { name: "bn1" type: "BatchNorm" bottom: "conv2" top: "bn1" }
  layer { name: "scale1" type: "Scale" bottom: "bn1" top: "bn1" scale_param { bias_term: true } }
  layer { name: "relu1" type: "ReLU" bottom: "bn1" top: "bn1" }
  layer { name: "conv3" type: "Convolution" bottom: "bn1" top: "conv3"
          convolution_param { num_output: 16 kernel_size: 1 bias_term: false } }
  layer { name: "bn2" type: "BatchNorm" bottom: "conv3" top: "bn2" }
  layer { name: "scale2" type: "Scale" bottom: "bn2" top: "bn2" scale_param { bias_term: true } }
  layer { name: "add" type: "Eltwise" bottom: "bn2" bottom: "bn1" top: "add" }
  layer { name: "relu2" type: "ReLU" bottom: "add" top: "add" }
  layer { name: "pool" type: "Pooling" bottom: "add" top: "pool"
          pooling_param { pool: MAX kernel_size: 2 stride: 2 } }
  layer { name: "fc" type: "InnerProduct" bottom: "pool" top: "fc"
          inner_product_param { num_output: 10 } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }
)";

// Elements: conv, lrn, most, larger, dropout 1024 each; average 256.
constexpr char kOthers[] = R"(
  layer { name: "data" type: "Input" top: "data" input_param { shape { dim: [2, 4, 8, 8] } } }
  layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 2 } } }
  layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
          convolution_param { num_output: 8 kernel_size: 3 pad: 1 } }
  layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
  layer { name: "lrn" type: "LRN" bottom: "conv" top: "lrn" }
  layer { name: "sigmoid" type: "Sigmoid" bottom: "lrn" top: "sigmoid" }
  layer { name: "larger" type: "Eltwise" bottom: "lrn" bottom: "sigmoid" top: "larger"
          eltwise_param { operation: MAX } }
  layer { name: "dropout" type: "Dropout" bottom: "larger" top: "dropout" }
  layer { name: "joined" type: "Concat" bottom: "dropout" bottom: "lrn" top: "joined" }
  layer { name: "average" type: "Pooling" bottom: "joined" top: "average"
          pooling_param { pool: AVE kernel_size: 2 stride: 2 } }
  layer { name: "fc" type: "InnerProduct" bottom: "average" top: "fc"
          inner_product_param { num_output: 10 } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }
)";

StepEstimate Estimate(const std::string& text, DType compute = DType::kFP16,
                      const std::string& solver = "SGD", const std::string& gpu = "h200") {
  NetOptions options;
  options.compute = compute;
  SolverConfig config;
  config.set_type(solver);
  return EstimateStep(ParseNet(text, "net"), options, config, FindGpu("--gpu", gpu));
}

// Launches, bytes and FLOPs.
using Sums = std::tuple<int64_t, int64_t, int64_t>;

enum Pass { kForward, kBackward };

class Costs {
 public:
  explicit Costs(StepEstimate step) : step_(std::move(step)) {}

  Sums Of(const std::string& layer, OperationKind kind, Pass pass) const {
    Sums sums;
    for (const Operation& operation : step_.operations) {
      if (operation.layer != layer || operation.kind != kind) continue;
      if (operation.backward != (pass == kBackward)) continue;
      std::get<0>(sums) += operation.launches;
      std::get<1>(sums) += operation.bytes;
      std::get<2>(sums) += operation.flops;
    }
    return sums;
  }
  Sums Update() const { return Of("", OperationKind::kUpdate, kForward); }

 private:
  const StepEstimate step_;
};

TEST(StepEstimateTest, Convolutions) {
  const Costs costs(Estimate(kResidual));
  // 9 * 8 = 72 products for each of 3200 results; 1600 + 3200 + 1152 elements of two bytes.
  const Sums pass = {1, 11904, 460800};
  EXPECT_EQ(costs.Of("conv2", OperationKind::kConvolutionForward, kForward), pass);
  EXPECT_EQ(costs.Of("conv2", OperationKind::kConvolutionWeights, kBackward), pass);
  EXPECT_EQ(costs.Of("conv2", OperationKind::kConvolutionData, kBackward), pass);
  EXPECT_EQ(costs.Of("conv2", OperationKind::kBiasGradient, kBackward), Sums(1, 6400, 0));
  // The first one's bottom has no gradient: 800 + 1600 + 32 elements.
  EXPECT_EQ(costs.Of("conv1", OperationKind::kConvolutionForward, kForward), Sums(1, 4864, 12800));
  EXPECT_EQ(costs.Of("conv1", OperationKind::kConvolutionWeights, kBackward), Sums(1, 4864, 12800));
  EXPECT_EQ(costs.Of("conv1", OperationKind::kConvolutionData, kBackward), Sums());
  EXPECT_EQ(costs.Of("conv1", OperationKind::kBiasGradient, kBackward), Sums());
}

TEST(StepEstimateTest, Deconvolutions) {
  const Costs costs(Estimate(R"(
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: [2, 3, 5, 5] } } }
    layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 2 } } }
    layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
            convolution_param { num_output: 4 kernel_size: 1 } }
    layer { name: "up" type: "Deconvolution" bottom: "conv" top: "up"
            convolution_param { num_output: 6 kernel_size: 4 stride: 2 pad: 1 } }
    layer { name: "fc" type: "InnerProduct" bottom: "up" top: "fc"
            inner_product_param { num_output: 10 } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }
  )"));
  // 6 * 16 = 96 products for each of 200 elements of the bottom; 200 + 1200 + 384 elements of two
  // bytes. The bias reads and writes the top.
  const Sums pass = {1, 3568, 38400};
  EXPECT_EQ(costs.Of("up", OperationKind::kConvolutionForward, kForward), pass);
  EXPECT_EQ(costs.Of("up", OperationKind::kEltwise, kForward), Sums(1, 4800, 0));
  EXPECT_EQ(costs.Of("up", OperationKind::kConvolutionWeights, kBackward), pass);
  EXPECT_EQ(costs.Of("up", OperationKind::kConvolutionData, kBackward), pass);
  EXPECT_EQ(costs.Of("up", OperationKind::kBiasGradient, kBackward), Sums(1, 2400, 0));
}

TEST(StepEstimateTest, TheGradientOfAFusedReluReadsTheResult) {
  const Costs costs(Estimate(kOthers));
  // dy and y are read, dy is written: 1024 elements each.
  EXPECT_EQ(costs.Of("conv", OperationKind::kBiasGradient, kBackward), Sums(1, 3 * 2048, 0));
}

TEST(StepEstimateTest, BatchNorms) {
  const Costs costs(Estimate(kResidual));
  constexpr int64_t kTensor = 6400;
  EXPECT_EQ(costs.Of("bn1", OperationKind::kBatchNormStatistics, kForward), Sums(1, kTensor, 0));
  EXPECT_EQ(costs.Of("bn1", OperationKind::kBatchNormApply, kForward), Sums(1, 2 * kTensor, 0));
  // x, the gradients of conv3's bottom and of the shortcut, and their sum behind the ReLU.
  EXPECT_EQ(costs.Of("bn1", OperationKind::kBatchNormSums, kBackward), Sums(1, 4 * kTensor, 0));
  EXPECT_EQ(costs.Of("bn1", OperationKind::kBatchNormGradient, kBackward), Sums(1, 3 * kTensor, 0));
  // With the shortcut it reads one tensor more, and writes a bit for each element; backward x, the
  // bits, dy, and the shortcut's gradient.
  constexpr int64_t kBits = kTensor / 16;
  EXPECT_EQ(costs.Of("bn2", OperationKind::kBatchNormApply, kForward),
            Sums(1, 3 * kTensor + kBits, 0));
  EXPECT_EQ(costs.Of("bn2", OperationKind::kBatchNormSums, kBackward),
            Sums(1, 3 * kTensor + kBits, 0));
  EXPECT_EQ(costs.Of("bn2", OperationKind::kBatchNormGradient, kBackward), Sums(1, 3 * kTensor, 0));
}

// 3200 elements each. The shortcut's convolution has a bias, so its batch norm reads the bottom.
constexpr char kPair[] = R"(
  layer { name: "data" type: "Input" top: "data" input_param { shape { dim: [2, 4, 10, 10] } } }
  layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 2 } } }
  layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
          convolution_param { num_output: 16 kernel_size: 1 bias_term: false } }
  layer { name: "bn1" type: "BatchNorm" bottom: "conv1" top: "bn1" }
  layer { name: "scale1" type: "Scale" bottom: "bn1" top: "bn1" scale_param { bias_term: true } }
  layer { name: "conv2" type: "Convolution" bottom: "data" top: "conv2"
          convolution_param { num_output: 16 kernel_size: 1 } }
  layer { name: "bn2" type: "BatchNorm" bottom: "conv2" top: "bn2" }
  layer { name: "scale2" type: "Scale" bottom: "bn2" top: "bn2" scale_param { bias_term: true } }
  layer { name: "add" type: "Eltwise" bottom: "bn1" bottom: "bn2" top: "add" }
  layer { name: "relu" type: "ReLU" bottom: "add" top: "add" }
  layer { name: "fc" type: "InnerProduct" bottom: "add" top: "fc"
          inner_product_param { num_output: 10 } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }
)";

TEST(StepEstimateTest, BatchNormsThatAreAdded) {
  const Costs costs(Estimate(kPair));
  constexpr int64_t kTensor = 6400, kBits = kTensor / 16;
  EXPECT_EQ(costs.Of("bn2", OperationKind::kBatchNormStatistics, kForward), Sums(1, kTensor, 0));
  EXPECT_EQ(costs.Of("bn2", OperationKind::kBatchNormApply, kForward), Sums());
  EXPECT_EQ(costs.Of("bn1", OperationKind::kBatchNormStatistics, kForward), Sums());
  EXPECT_EQ(costs.Of("bn1", OperationKind::kBatchNormApply, kForward),
            Sums(1, 3 * kTensor + kBits, 0));
  // Both bottoms, dy, and the gradient before the ReLU; then both bottoms, that, and their
  // gradients.
  EXPECT_EQ(costs.Of("bn1", OperationKind::kBatchNormSums, kBackward),
            Sums(1, 4 * kTensor + kBits, 0));
  EXPECT_EQ(costs.Of("bn1", OperationKind::kBatchNormGradient, kBackward), Sums(1, 5 * kTensor, 0));
  EXPECT_EQ(costs.Of("bn2", OperationKind::kBatchNormSums, kBackward), Sums(1, 0, 0));
  EXPECT_EQ(costs.Of("bn2", OperationKind::kBatchNormGradient, kBackward), Sums());
}

// 3200 elements before the pooling, 800 after it.
constexpr char kStem[] = R"(
  layer { name: "data" type: "Input" top: "data" input_param { shape { dim: [2, 4, 10, 10] } } }
  layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 2 } } }
  layer { name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
          convolution_param { num_output: 16 kernel_size: 1 } }
  layer { name: "bn1" type: "BatchNorm" bottom: "conv1" top: "bn1" }
  layer { name: "scale1" type: "Scale" bottom: "bn1" top: "bn1" scale_param { bias_term: true } }
  layer { name: "relu1" type: "ReLU" bottom: "bn1" top: "bn1" }
  layer { name: "pool1" type: "Pooling" bottom: "bn1" top: "pool1"
          pooling_param { pool: MAX kernel_size: 3 stride: 2 } }
  layer { name: "fc" type: "InnerProduct" bottom: "pool1" top: "fc"
          inner_product_param { num_output: 10 } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" }
)";

TEST(StepEstimateTest, ABatchNormWithTheMaxPoolingAfterIt) {
  const Costs costs(Estimate(kStem));
  constexpr int64_t kBottom = 6400, kTop = 1600, kTaps = 800;
  EXPECT_EQ(costs.Of("bn1", OperationKind::kBatchNormStatistics, kForward), Sums(1, kBottom, 0));
  EXPECT_EQ(costs.Of("bn1", OperationKind::kBatchNormApply, kForward),
            Sums(1, kBottom + kTop + kTaps, 0));
  EXPECT_EQ(costs.Of("bn1", OperationKind::kBatchNormSums, kBackward),
            Sums(1, kBottom + kTop + kTaps, 0));
  EXPECT_EQ(costs.Of("bn1", OperationKind::kBatchNormGradient, kBackward),
            Sums(1, 2 * kBottom + kTop + kTaps, 0));
  EXPECT_EQ(costs.Of("pool1", OperationKind::kPooling, kForward), Sums());
}

TEST(StepEstimateTest, LayersThatOnlyMoveBytes) {
  const Costs costs(Estimate(kResidual));
  // 3200 and 800 elements of two bytes, and which tap was the largest.
  EXPECT_EQ(costs.Of("pool", OperationKind::kPooling, kForward), Sums(1, 6400 + 1600 + 800, 0));
  EXPECT_EQ(costs.Of("pool", OperationKind::kPooling, kBackward), Sums(1, 6400 + 1600 + 800, 0));
  // Scores of two bytes, probabilities of four, labels of eight.
  EXPECT_EQ(costs.Of("loss", OperationKind::kLoss, kForward), Sums(2, 40 + 80 + 16, 0));
  EXPECT_EQ(costs.Of("loss", OperationKind::kLoss, kBackward), Sums(1, 40 + 80 + 16, 0));
  // Pixels of one byte arrive, are read, and written as FP16.
  EXPECT_EQ(costs.Of("data", OperationKind::kInput, kForward), Sums(2, 800 + 800 + 1600, 0));
  EXPECT_EQ(costs.Of("label", OperationKind::kInput, kForward), Sums(2, 16 + 16 + 16, 0));

  const Costs others(Estimate(kOthers));
  constexpr int64_t kTensor = 2048;
  // With a scale of four bytes per element.
  EXPECT_EQ(others.Of("lrn", OperationKind::kOther, kForward), Sums(1, 2 * kTensor + 4096, 0));
  EXPECT_EQ(others.Of("lrn", OperationKind::kOther, kBackward), Sums(1, 3 * kTensor + 4096, 0));
  // Three readers give lrn a gradient each: they are added up first.
  EXPECT_EQ(others.Of("lrn", OperationKind::kEltwise, kBackward), Sums(1, 4 * kTensor, 0));
  EXPECT_EQ(others.Of("sigmoid", OperationKind::kEltwise, kForward), Sums(1, 2 * kTensor, 0));
  EXPECT_EQ(others.Of("sigmoid", OperationKind::kEltwise, kBackward), Sums(1, 3 * kTensor, 0));
  // With one byte per element that says which bottom was the larger one, or which was kept.
  EXPECT_EQ(others.Of("larger", OperationKind::kEltwise, kForward), Sums(1, 3 * kTensor + 1024, 0));
  EXPECT_EQ(others.Of("larger", OperationKind::kEltwise, kBackward),
            Sums(1, 3 * kTensor + 1024, 0));
  EXPECT_EQ(others.Of("dropout", OperationKind::kEltwise, kForward),
            Sums(1, 2 * kTensor + 1024, 0));
  EXPECT_EQ(std::get<1>(others.Of("joined", OperationKind::kOther, kForward)), 4 * kTensor);
  EXPECT_EQ(std::get<1>(others.Of("joined", OperationKind::kOther, kBackward)), 4 * kTensor);
  EXPECT_EQ(others.Of("average", OperationKind::kPooling, kForward), Sums(1, 4096 + 1024, 0));
}

TEST(StepEstimateTest, BiasTileReductionAndArgMax) {
  const Costs costs(Estimate(R"(
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: [2, 4, 8, 8] } } }
    layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 2 } } }
    layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
            convolution_param { num_output: 8 kernel_size: 3 pad: 1 } }
    layer { name: "bias" type: "Bias" bottom: "conv" top: "bias" }
    layer { name: "tile" type: "Tile" bottom: "bias" top: "tile" tile_param { tiles: 2 } }
    layer { name: "fc" type: "InnerProduct" bottom: "tile" top: "fc"
            inner_product_param { num_output: 10 } }
    layer { name: "size" type: "Reduction" bottom: "fc" top: "size" loss_weight: 0.1
            reduction_param { operation: SUMSQ } }
    layer { name: "best" type: "ArgMax" bottom: "fc" top: "best" argmax_param { top_k: 2 } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" })"));
  constexpr int64_t kTensor = 2048;  // conv, bias
  EXPECT_EQ(costs.Of("bias", OperationKind::kEltwise, kForward), Sums(1, 2 * kTensor, 0));
  // The gradient of the bottom is that of the top.
  EXPECT_EQ(costs.Of("bias", OperationKind::kEltwise, kBackward), Sums(1, kTensor, 0));
  EXPECT_EQ(costs.Of("tile", OperationKind::kOther, kForward), Sums(1, 3 * kTensor, 0));
  EXPECT_EQ(costs.Of("tile", OperationKind::kOther, kBackward), Sums(1, 3 * kTensor, 0));
  // 20 scores of two bytes and a loss of four; then the scores and their gradient.
  EXPECT_EQ(costs.Of("size", OperationKind::kOther, kForward), Sums(1, 40 + 4, 0));
  EXPECT_EQ(costs.Of("size", OperationKind::kOther, kBackward), Sums(1, 2 * 40, 0));
  // The scores twice; two indices of four bytes for each of two images.
  EXPECT_EQ(costs.Of("best", OperationKind::kOther, kForward), Sums(1, 2 * 40 + 16, 0));
}

TEST(StepEstimateTest, InnerProducts) {
  const Costs costs(Estimate(kResidual));
  // 2 x 400 by 400 x 10: 800 + 4000 + 20 elements.
  EXPECT_EQ(costs.Of("fc", OperationKind::kMatmul, kForward), Sums(1, 9640, 16000));
  EXPECT_EQ(costs.Of("fc", OperationKind::kMatmul, kBackward), Sums(2, 2 * 9640, 2 * 16000));
  EXPECT_EQ(costs.Of("fc", OperationKind::kBiasGradient, kBackward), Sums(1, 40, 0));
}

TEST(StepEstimateTest, Updates) {
  // In the pool each parameter begins at a multiple of 32 elements, so that biases and the numbers
  // of batch norms take 32.
  constexpr int64_t kElements = 32 + 1152 + 32 + 4 * 32 + 256 + 4000 + 32;
  const auto update = [](DType compute, const std::string& solver) {
    return Costs(Estimate(kResidual, compute, solver)).Update();
  };
  EXPECT_EQ(update(DType::kFP16, "SGD"), Sums(2, 20 * kElements, 0));
  EXPECT_EQ(update(DType::kFP32, "SGD"), Sums(2, 20 * kElements, 0));
  EXPECT_EQ(update(DType::kBF16, "LARS"), Sums(4, 26 * kElements, 0));
  EXPECT_EQ(update(DType::kFP32, "LARC"), Sums(4, 28 * kElements, 0));
  EXPECT_EQ(update(DType::kFP16, "LAMB"), Sums(4, 40 * kElements, 0));
  // One or two numbers of state.
  for (const DType compute : {DType::kFP32, DType::kBF16}) {
    for (const char* solver : {"AdaGrad", "RMSProp"}) {
      EXPECT_EQ(update(compute, solver), Sums(2, 20 * kElements, 0)) << solver;
    }
    for (const char* solver : {"Adam", "AdamW", "AdaDelta"}) {
      EXPECT_EQ(update(compute, solver), Sums(2, 28 * kElements, 0)) << solver;
    }
  }
}

TEST(StepEstimateTest, FP32TakesTwiceTheBytesAndOtherProducts) {
  const Costs costs(Estimate(kResidual, DType::kFP32));
  EXPECT_EQ(costs.Of("conv2", OperationKind::kConvolutionForward, kForward),
            Sums(1, 23808, 460800));
  const auto arithmetic = [](DType compute, bool allow_tf32) {
    NetOptions options;
    options.compute = compute;
    options.allow_tf32 = allow_tf32;
    const StepEstimate step =
        EstimateStep(ParseNet(kResidual, "net"), options, SolverConfig(), FindGpu("", "h200"));
    for (const Operation& operation : step.operations) {
      if (operation.flops > 0) return operation.arithmetic;
    }
    ADD_FAILURE() << "no products";
    return Arithmetic::kFP32;
  };
  EXPECT_EQ(arithmetic(DType::kFP32, false), Arithmetic::kFP32);
  EXPECT_EQ(arithmetic(DType::kFP32, true), Arithmetic::kTF32);
  EXPECT_EQ(arithmetic(DType::kFP16, true), Arithmetic::kFP16);
  EXPECT_EQ(arithmetic(DType::kBF16, false), Arithmetic::kBF16);
}

TEST(StepEstimateTest, ForwardOnly) {
  NetOptions options;
  options.phase = TEST;
  options.compute = DType::kFP16;
  const StepEstimate step =
      EstimateStep(ParseNet(kResidual, "net"), options, SolverConfig(), FindGpu("", "h200"));
  for (const Operation& operation : step.operations) EXPECT_FALSE(operation.backward);
  const Costs costs(step);
  EXPECT_EQ(costs.Update(), Sums());
  EXPECT_EQ(costs.Of("bn1", OperationKind::kBatchNormStatistics, kForward), Sums());
  EXPECT_EQ(costs.Of("pool", OperationKind::kPooling, kForward), Sums(1, 6400 + 1600, 0));
}

TEST(StepEstimateTest, RefusesMistakes) {
  EXPECT_NE(ErrorOf([] {
              Estimate(kResidual, DType::kBF16, "SGD", "t4");
            }).find("BF16 is not supported here (NVIDIA T4, on paper)"),
            std::string::npos);
  EXPECT_EQ(ErrorOf([] { FindGpu("--gpu", "h300"); }),
            "unknown --gpu \"h300\" (known: a100, b200, h100, h200, l40s, t4)");
  EXPECT_NE(
      ErrorOf([] { Estimate(kResidual, DType::kFP16, "ADAM"); }).find("must be AdaDelta, AdaGrad"),
      std::string::npos);
}

}  // namespace
}  // namespace gf
