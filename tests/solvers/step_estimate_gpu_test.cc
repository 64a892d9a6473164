// A step on paper against the same step on the emulated GPU: what was compiled, and what the host
// asked of the GPU.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/estimate/estimate_device.h"
#include "layers/kernel.h"
#include "models/compiled_net.h"
#include "solvers/estimate/step_estimate.h"
#include "solvers/solver.h"
#include "tests/emulated_gpu/counts.h"
#include "tests/models/net_for_test.h"

namespace gf {
namespace {

// Layers that the shipped networks lack or in other forms. Six channels fit in no pack.
constexpr char kOtherLayers[] = R"(
  layer { name: "data" type: "Input" top: "data" input_param { shape { dim: [2, 3, 12, 12] } } }
  layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 2 } } }
  layer { name: "a" type: "Convolution" bottom: "data" top: "a"
          convolution_param { num_output: 6 kernel_size: 3 pad: 1 bias_term: false } }
  layer { name: "relu_a" type: "ReLU" bottom: "a" top: "a" }
  layer { name: "lrn" type: "LRN" bottom: "a" top: "lrn" lrn_param { local_size: 3 } }
  layer { name: "average" type: "Pooling" bottom: "lrn" top: "average"
          pooling_param { pool: AVE kernel_size: 3 stride: 2 pad: 1 } }
  layer { name: "most" type: "Pooling" bottom: "lrn" top: "most"
          pooling_param { pool: MAX kernel_size: 3 stride: 2 pad: 1 } }
  layer { name: "sigmoid" type: "Sigmoid" bottom: "average" top: "sigmoid" }
  layer { name: "tanh" type: "TanH" bottom: "most" top: "tanh" }
  layer { name: "larger" type: "Eltwise" bottom: "sigmoid" bottom: "tanh" top: "larger"
          eltwise_param { operation: MAX } }
  layer { name: "product" type: "Eltwise" bottom: "sigmoid" bottom: "tanh" top: "product"
          eltwise_param { operation: PROD } }
  layer { name: "split" type: "Split" bottom: "product" top: "left" top: "right" }
  layer { name: "scale" type: "Scale" bottom: "left" top: "scale"
          scale_param { bias_term: true } }
  layer { name: "norm" type: "BatchNorm" bottom: "right" top: "norm" }
  layer { name: "concat" type: "Concat" bottom: "larger" bottom: "scale" bottom: "norm"
          top: "concat" }
  layer { name: "bias" type: "Bias" bottom: "concat" top: "bias" }
  layer { name: "tile" type: "Tile" bottom: "bias" top: "tile" tile_param { tiles: 2 } }
  layer { name: "size" type: "Reduction" bottom: "tile" top: "size" loss_weight: 0.01
          reduction_param { operation: SUMSQ axis: 1 } }
  layer { name: "up" type: "Deconvolution" bottom: "tile" top: "up"
          convolution_param { num_output: 6 kernel_size: 4 stride: 2 pad: 1 } }
  layer { name: "leaky" type: "ReLU" bottom: "up" top: "leaky"
          relu_param { negative_slope: -0.1 } }
  layer { name: "dropout" type: "Dropout" bottom: "leaky" top: "dropout" }
  layer { name: "depth" type: "StochasticDepth" bottom: "dropout" top: "depth" }
  layer { name: "interp" type: "Interp" bottom: "depth" top: "interp"
          interp_param { zoom_factor: 2 } }
  layer { name: "crop" type: "Crop" bottom: "interp" bottom: "concat" top: "crop"
          crop_param { offset: 2 } }
  layer { name: "of_pixels" type: "LayerNorm" bottom: "crop" top: "of_pixels"
          layer_norm_param { channels_only: true } }
  layer { name: "of_images" type: "LayerNorm" bottom: "of_pixels" top: "of_images"
          layer_norm_param { elementwise_affine: false } }
  layer { name: "flat" type: "Flatten" bottom: "of_images" top: "flat" }
  layer { name: "fc" type: "InnerProduct" bottom: "flat" top: "fc"
          inner_product_param { num_output: 10 } }
  layer { name: "relu_fc" type: "ReLU" bottom: "fc" top: "fc" }
  layer { name: "shape" type: "Reshape" bottom: "fc" top: "shape"
          reshape_param { shape { dim: [0, 5, 2] } } }
  layer { name: "flat_again" type: "Reshape" bottom: "shape" top: "flat_again"
          reshape_param { shape { dim: [0, -1] } } }
  layer { name: "shift" type: "Bias" bottom: "flat_again" bottom: "fc" top: "shift"
          bias_param { axis: 0 } }
  layer { name: "best" type: "ArgMax" bottom: "shift" top: "best" argmax_param { top_k: 2 } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "shift" bottom: "label" top: "loss" }
  layer { name: "right" type: "Accuracy" bottom: "shift" bottom: "label" top: "accuracy" }
  layer { name: "hinge" type: "HingeLoss" bottom: "flat_again" bottom: "label" top: "hinge" }
  layer { name: "pairs" type: "ContrastiveLoss" bottom: "fc" bottom: "flat_again" bottom: "label"
          top: "pairs" }
  layer { name: "matrix" type: "Concat" bottom: "flat_again" bottom: "flat_again"
          bottom: "flat_again" bottom: "flat_again" bottom: "flat_again" top: "matrix" }
  layer { name: "infogain" type: "InfogainLoss" bottom: "flat_again" bottom: "label"
          bottom: "matrix" top: "infogain" }
)";

struct StepCase {
  std::string net;  // empty: kOtherLayers
  int64_t side = 0;
  DType compute = DType::kFP16;
  std::string solver = "SGD";
  Phase phase = TRAIN;
  bool recompute = false;
};

void PrintTo(const StepCase& c, std::ostream* out) { *out << c.net; }

NetSource SourceOf(const StepCase& c) {
  constexpr int64_t kBatch = 2;
  return c.net.empty() ? ParseNet(kOtherLayers, "others") : ShippedNet(c.net, kBatch, c.side);
}

NetOptions OptionsOf(const StepCase& c) {
  NetOptions options = TestOptions(c.phase);
  options.compute = c.compute;
  options.recompute = c.recompute;
  options.deterministic = true;  // else time decides whether a product adds its bias
  options.record = false;
  return options;
}

emulated::Counts operator-(emulated::Counts a, const emulated::Counts& b) {
  a.kernels -= b.kernels;
  a.cudnn -= b.cudnn;
  a.matmuls -= b.matmuls;
  a.copies -= b.copies;
  a.memsets -= b.memsets;
  return a;
}

int64_t Sum(const emulated::Counts& c) {
  return c.kernels + c.cudnn + c.matmuls + c.copies + c.memsets;
}

// The launches of those operations that `which` says.
template <typename Which>
int64_t Launches(const StepEstimate& step, const Which& which) {
  int64_t launches = 0;
  for (const Operation& operation : step.operations) {
    if (which(operation)) launches += operation.launches;
  }
  return launches;
}

class StepEstimateTest : public testing::TestWithParam<StepCase> {
 protected:
  const NetSource source_ = SourceOf(GetParam());
  const NetOptions options_ = OptionsOf(GetParam());
  const std::unique_ptr<Device> gpu_ = DeviceRegistry::Get().Create("device", "cuda", 0);
};

// Types of the device's layers or solvers.
template <typename Registry>
std::vector<std::string> TypesOf(const std::string& device) {
  std::vector<std::string> types;
  for (const std::string& name : Registry::Get().Keys()) {
    if (name.rfind(device + "/", 0) == 0) types.push_back(name.substr(device.size() + 1));
  }
  return types;
}

TEST(EstimateRegistryTest, EveryKernelAndSolverOfTheGpuHasItsCost) {
  EXPECT_EQ(TypesOf<KernelRegistry>("cuda_estimate"), TypesOf<KernelRegistry>("cuda"));
  EXPECT_EQ(TypesOf<SolverRegistry>("cuda_estimate"), TypesOf<SolverRegistry>("cuda"));
  EXPECT_GT(TypesOf<KernelRegistry>("cuda").size(), 15u);
}

void ExpectSameTensors(const std::vector<TensorDesc>& a, const std::vector<TensorDesc>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].shape, b[i].shape);
    EXPECT_EQ(a[i].dtype, b[i].dtype);
    EXPECT_EQ(a[i].layout, b[i].layout);
  }
}

// All that the kernels and the net agreed to but scratch memory.
void ExpectSameSetup(const KernelSetup& a, const KernelSetup& b) {
  EXPECT_EQ(a.propagate, b.propagate);
  ExpectSameTensors(a.bottoms, b.bottoms);
  ExpectSameTensors(a.tops, b.tops);
  ExpectSameTensors(a.parameters, b.parameters);
  EXPECT_EQ(a.needs_bottom, b.needs_bottom);
  EXPECT_EQ(a.needs_top, b.needs_top);
  EXPECT_EQ(a.saved_bytes, b.saved_bytes);
  EXPECT_EQ(a.in_place, b.in_place);
  EXPECT_EQ(a.in_place_backward, b.in_place_backward);
  EXPECT_EQ(a.in_place_backward_bottom, b.in_place_backward_bottom);
  EXPECT_EQ(a.gradient_over_bottom, b.gradient_over_bottom);
  EXPECT_EQ(a.max_top_diffs, b.max_top_diffs);
}

TEST_P(StepEstimateTest, CompilesAsForTheGpu) {
  EstimateDevice paper(FindGpu("gpu", "h200"));
  const CompiledNet estimate = CompileNet(source_, options_, &paper);
  const CompiledNet real = CompileNet(source_, options_, gpu_.get());
  ASSERT_EQ(estimate.ops.size(), real.ops.size());
  for (size_t i = 0; i < real.ops.size(); ++i) {
    const CompiledOp &a = estimate.ops[i], &b = real.ops[i];
    SCOPED_TRACE(b.layer->name());
    EXPECT_EQ(a.layer->name(), b.layer->name());
    EXPECT_EQ(a.layer->type(), b.layer->type());
    EXPECT_EQ(a.bottoms, b.bottoms);
    EXPECT_EQ(a.tops, b.tops);
    EXPECT_EQ(a.backward, b.backward);
    EXPECT_EQ(a.recompute, b.recompute);
    ExpectSameSetup(a.setup, b.setup);
    EXPECT_EQ(a.kernel->CanRecompute(), b.kernel->CanRecompute());
    ASSERT_EQ(a.gradient_sums.size(), b.gradient_sums.size());
    for (size_t top = 0; top < a.gradient_sums.size(); ++top) {
      EXPECT_EQ(a.gradient_sums[top] == nullptr, b.gradient_sums[top] == nullptr);
    }
  }
  const auto& entries = real.parameters->layout().entries();
  const auto& others = estimate.parameters->layout().entries();
  ASSERT_EQ(others.size(), entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(others[i].name, entries[i].name);
    EXPECT_EQ(others[i].offset, entries[i].offset);
    EXPECT_EQ(others[i].layout, entries[i].layout) << entries[i].name;
  }
  // Without the scratch memory of kernels and libraries.
  EXPECT_LE(estimate.memory.bytes(), real.memory.bytes());
  EXPECT_LE(real.memory.bytes(), estimate.memory.bytes() * 11 / 10);
}

TEST_P(StepEstimateTest, LaunchesAsMuchAsTheGpu) {
  const StepCase& c = GetParam();
  Net net(source_, options_, gpu_.get());
  net.InitParameters();
  Batch batch;
  std::vector<uint8_t> pixels(net.input_shape().count(), 100);
  batch.images.desc = {net.input_shape(), DType::kUINT8, Layout()};
  batch.images.data = pixels.data();
  batch.labels.assign(net.input_shape()[0], 1);
  ParameterStore* const store = net.parameters().get();
  SolverConfig config;
  config.set_type(c.solver);
  std::unique_ptr<Solver> solver;
  if (c.phase == TRAIN) solver = NewSolver("solver", c.solver, config, store);

  // The third step: each of the two buffers for batches is made when it is first used.
  emulated::Counts passes, update;
  for (int step = 0; step < 3; ++step) {
    const emulated::Counts begin = emulated::Now();
    net.Forward(batch, step);
    if (solver != nullptr) net.Backward(1, nullptr);
    const emulated::Counts end = emulated::Now();
    passes = end - begin;
    if (solver == nullptr) continue;
    solver->set_record(false);
    solver->BeginStep({});
    solver->Update({{0, store->layout().count()}});
    update = emulated::Now() - end;
  }

  const StepEstimate estimate = EstimateStep(source_, options_, config, FindGpu("gpu", "h200"));
  const auto is_convolution = [](const Operation& o) {
    return o.kind == OperationKind::kConvolutionForward ||
           o.kind == OperationKind::kConvolutionWeights ||
           o.kind == OperationKind::kConvolutionData;
  };
  const auto is_product = [](const Operation& o) { return o.kind == OperationKind::kMatmul; };
  const auto is_update = [](const Operation& o) { return o.kind == OperationKind::kUpdate; };
  const int64_t convolutions = Launches(estimate, is_convolution);
  const int64_t products = Launches(estimate, is_product);
  const int64_t updates = Launches(estimate, is_update);
  // The estimate assumes one launch for all groups, and no folding of color images, which takes two
  // kernels in forward and two for the gradient of the filters.
  const auto ops_with = [&](const char* word) {
    return std::count_if(net.ops().begin(), net.ops().end(),
                         [&](const NetOp& op) { return op.how.find(word) != std::string::npos; });
  };
  const int64_t folding = ops_with("folded") * (c.phase == TRAIN ? 4 : 2);
  EXPECT_EQ(convolutions + ops_with("forward cuDNN on tensor cores by group"), passes.cudnn);
  EXPECT_EQ(products, passes.matmuls);
  EXPECT_EQ(updates, Sum(update));
  const int64_t all = Launches(estimate, [](const Operation&) { return true; });
  // The estimate assumes that cuDNN has an engine for every bias and ReLU.
  const int64_t epilogues = ops_with("and an epilogue");
  EXPECT_EQ(all - convolutions - products - updates + epilogues + folding,
            passes.kernels + passes.copies + passes.memsets)
      << passes.kernels << " kernels, " << passes.copies << " copies, " << passes.memsets
      << " fills";
  EXPECT_GT(passes.kernels, 5);
}

INSTANTIATE_TEST_SUITE_P(
    Nets, StepEstimateTest,
    testing::Values(StepCase{"lenet"}, StepCase{"lenet", 0, DType::kFP32, "LAMB"},
                    StepCase{"lenet", 0, DType::kBF16, "LARC"},
                    StepCase{"lenet", 0, DType::kFP16, "Adam"},
                    StepCase{"lenet", 0, DType::kBF16, "RMSProp"},
                    StepCase{"resnet20_cifar", 0, DType::kFP16, "Muon"},
                    StepCase{"alexnet_bn", 67, DType::kBF16, "LARS"}, StepCase{"googlenet", 80},
                    StepCase{"resnet20_cifar"}, StepCase{"resnet50", 32, DType::kFP16, "LARS"},
                    StepCase{"resnet50_v2", 32, DType::kBF16, "SGD", TRAIN, true}, StepCase{""},
                    StepCase{"", 0, DType::kFP32, "SGD", TEST}),
    [](const auto& info) {
      const std::string net = info.param.net.empty() ? "others" : info.param.net;
      return net + "_" + std::to_string(info.index);
    });

}  // namespace
}  // namespace gf
