// What the real cuDNN plans for the convolutions of the shipped nets, on GPUs that are described to
// it. Needs its libraries; no GPU, no driver.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "core/cudnn_sums.h"
#include "core/error.h"
#include "layers/cuda/cudnn/convolution_graph.h"
#include "tests/layers/cuda/cudnn/cudnn_attribute_hook.h"
#include "tests/layers/cuda/cudnn/shipped_convolutions.h"

namespace gf {
namespace {

constexpr int64_t kBatches[] = {1, 32, 37, 128, 256, 408};

const std::vector<ShippedConvolution>& Shipped() {
  static const auto* const all = new std::vector<ShippedConvolution>(ShippedConvolutions());
  return *all;
}

CudnnTarget TargetOf(const std::string& gpu) {
  std::ifstream file("tests/layers/cuda/cudnn/gpus/" + gpu + ".json");
  std::stringstream text;
  text << file.rdbuf();
  std::string json = text.str();
  while (!json.empty() && json.back() == '\n') json.pop_back();
  EXPECT_FALSE(json.empty()) << gpu;
  return CudnnTarget(json);
}

using Plans = std::vector<std::shared_ptr<CudnnPlan>>;

// As FindConvolution asks for them.
Plans PlansOf(const ShippedConvolution& convolution, int64_t batch, DType type,
              const CudnnTarget& target) {
  ConvolutionShape shape = convolution.shape;
  shape.n = batch;
  const auto graph = NewConvolutionGraph(convolution.pass, shape, type, convolution.epilogue);
  if (graph == nullptr) return {};
  return FindPlans(graph->operations, ConvolutionLimits(type, /*allow_tf32=*/false), target);
}

bool HasTensorCores(const Plans& plans) {
  return std::any_of(plans.begin(), plans.end(), [](const auto& p) { return p->tensor_cores; });
}

const ShippedConvolution& Find(const std::string& name) {
  for (const ShippedConvolution& c : Shipped()) {
    if (c.name == name) return c;
  }
  throw std::logic_error("no shipped net has " + name);
}

// Convolutions that no plan computes on tensor cores for some batch size: cuDNN 9.19 has no engine
// for groups with an epilogue for them. FindConvolution then takes the plain convolution, which has
// such a plan, and a kernel for the epilogue.
std::set<std::string> WithoutTensorCores(const std::string& gpu, DType type) {
  const std::string two = "alexnet conv2 forward+bias+relu",
                    four = "alexnet conv4 forward+bias+relu",
                    five = "alexnet conv5 forward+bias+relu";
  if (gpu == "sm100_b200") return {two, four, five};
  if (gpu == "sm90_h200") return {four, five};
  if (type == DType::kBF16) return {four, five};
  return {};
}

class CudnnPlansTest : public testing::TestWithParam<std::tuple<const char*, DType>> {};

TEST_P(CudnnPlansTest, EveryShippedConvolution) {
  const auto [gpu, type] = GetParam();
  const CudnnTarget target = TargetOf(gpu);
  int graphs = 0, on_tensor_cores = 0, plans = 0;
  int64_t workspace = 0;
  std::set<std::string> exceptions;
  for (const int64_t batch : kBatches) {
    for (const ShippedConvolution& convolution : Shipped()) {
      const std::string where = StrCat(convolution.name, ", batch ", batch);
      const Plans found = PlansOf(convolution, batch, type, target);
      ++graphs;
      plans += static_cast<int>(found.size());
      for (const auto& plan : found) workspace = std::max(workspace, plan->workspace_bytes);
      EXPECT_FALSE(found.empty()) << where;
      if (HasTensorCores(found)) {
        ++on_tensor_cores;
      } else if (type != DType::kFP32) {
        exceptions.insert(convolution.name);
      }
    }
  }
  std::printf("%-9s %s: %d graphs, %d with a plan on tensor cores, %d plans, up to %lld MiB\n", gpu,
              Name(type), graphs, on_tensor_cores, plans, static_cast<long long>(workspace >> 20));
  EXPECT_LE(workspace, int64_t{512} << 20);
  if (type == DType::kFP32) {
    EXPECT_EQ(on_tensor_cores, 0);
  } else {
    EXPECT_EQ(exceptions, WithoutTensorCores(gpu, type));
  }
}

// Without heuristics' mode B the weights' gradients of AlexNet's conv4 and conv5 run without tensor
// cores.
TEST(CudnnPlansControl, ModeBIsNeeded) {
  const CudnnTarget h200 = TargetOf("sm90_h200");
  for (const char* name : {"alexnet conv4 weights", "alexnet conv5 weights"}) {
    EXPECT_TRUE(HasTensorCores(PlansOf(Find(name), 128, DType::kFP16, h200))) << name;
    static constexpr cudnnBackendHeurMode_t kModeA = CUDNN_HEUR_MODE_A;
    const CudnnAttributeHook hook([](cudnnBackendAttributeName_t attribute, const void* values) {
      const bool is_b = attribute == CUDNN_ATTR_ENGINEHEUR_MODE &&
                        *static_cast<const cudnnBackendHeurMode_t*>(values) == CUDNN_HEUR_MODE_B;
      return is_b ? &kModeA : values;
    });
    EXPECT_FALSE(HasTensorCores(PlansOf(Find(name), 128, DType::kFP16, h200))) << name;
  }
}

// Tensors of a smaller alignment than they have cost the tensor cores.
TEST(CudnnPlansControl, AlignmentIsNeeded) {
  const CudnnTarget h200 = TargetOf("sm90_h200");
  const ShippedConvolution& convolution = Find("resnet50 layer1.0.conv2 forward");
  EXPECT_TRUE(HasTensorCores(PlansOf(convolution, 256, DType::kFP16, h200)));
  static constexpr int64_t kTwo = 2;
  const CudnnAttributeHook hook([](cudnnBackendAttributeName_t attribute, const void* values) {
    return attribute == CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT ? &kTwo : values;
  });
  EXPECT_FALSE(HasTensorCores(PlansOf(convolution, 256, DType::kFP16, h200)));
}

// cuDNN refuses the graph or its plans when an attribute is left out, but for those with a default.
TEST(CudnnPlansControl, AttributesAreNeeded) {
  const CudnnTarget h200 = TargetOf("sm90_h200");
  const ShippedConvolution& convolution = Find("googlenet conv1/7x7_s2 forward+bias+relu");
  std::set<cudnnBackendAttributeName_t> names;
  {
    const CudnnAttributeHook hook([&](cudnnBackendAttributeName_t attribute, const void* values) {
      names.insert(attribute);
      return values;
    });
    ASSERT_FALSE(PlansOf(convolution, 128, DType::kFP16, h200).empty());
  }
  EXPECT_GT(names.size(), 25u);
  std::set<cudnnBackendAttributeName_t> optional;
  for (const auto name : names) {
    const CudnnAttributeHook hook([&](cudnnBackendAttributeName_t attribute, const void* values) {
      return attribute == name ? nullptr : values;
    });
    try {
      if (!PlansOf(convolution, 128, DType::kFP16, h200).empty()) optional.insert(name);
    } catch (const std::exception&) {
    }
  }
  const std::set<cudnnBackendAttributeName_t> expected = {
      CUDNN_ATTR_POINTWISE_MATH_PREC,
      CUDNN_ATTR_POINTWISE_NAN_PROPAGATION,
      CUDNN_ATTR_CONVOLUTION_COMP_TYPE,
      CUDNN_ATTR_CONVOLUTION_CONV_MODE,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
      CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA,
      CUDNN_ATTR_TENSOR_DATA_TYPE,
      CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
  };
  EXPECT_EQ(optional, expected);
}

// The gradient of ResNet-50's first filters: cuDNN lays the images out anew with 8 channels, from 4
// as from 3, so that a fourth channel from the input would save nothing there.
TEST(CudnnPlansControl, FourthChannelSparesNoWorkspace) {
  const auto least_workspace = [](const char* gpu, int64_t channels) {
    ShippedConvolution convolution = Find("resnet50 conv1 weights");
    convolution.shape.channels = channels;
    int64_t least = int64_t{1} << 40;
    for (const auto& plan : PlansOf(convolution, 256, DType::kFP16, TargetOf(gpu))) {
      if (plan->tensor_cores) least = std::min(least, plan->workspace_bytes);
    }
    return least;
  };
  for (const char* gpu : {"sm80_a100", "sm90_h200"}) {
    const int64_t images = 256 * 224 * 224 * 8 * 2;  // bytes, with 8 channels
    EXPECT_GE(least_workspace(gpu, 3), images) << gpu;
    EXPECT_GE(least_workspace(gpu, 4), images) << gpu;
    EXPECT_LT(least_workspace(gpu, 8), images / 16) << gpu;
  }
}

std::vector<std::tuple<const char*, DType>> Cases() {
  std::vector<std::tuple<const char*, DType>> cases;
  for (const char* gpu : {"sm75_t4", "sm80_a100", "sm89_l40s", "sm90_h200", "sm100_b200"}) {
    for (DType type : {DType::kFP16, DType::kBF16, DType::kFP32}) {
      const bool has_bf16 = std::string(gpu) != "sm75_t4";
      if (type != DType::kBF16 || has_bf16) cases.emplace_back(gpu, type);
    }
  }
  return cases;
}

// Slices of a tensor: one group of a convolution. The fastest engines compute them, not groups.
TEST_P(CudnnPlansTest, OneGroupOfAConvolution) {
  const auto [gpu, type] = GetParam();
  if (type == DType::kFP32) return;
  const CudnnTarget target = TargetOf(gpu);
  int graphs = 0;
  for (const ShippedConvolution& convolution : Shipped()) {
    ConvolutionShape shape = convolution.shape;
    if (shape.groups != 2) continue;
    shape.n = 128;
    const auto graph =
        NewConvolutionGraph(convolution.pass, shape, type, convolution.epilogue, GraphGroups::kOne);
    ASSERT_NE(graph, nullptr) << convolution.name;
    const Plans plans = FindPlans(graph->operations, ConvolutionLimits(type, false), target);
    EXPECT_TRUE(HasTensorCores(plans)) << gpu << ", " << convolution.name;
    ++graphs;
  }
  EXPECT_GE(graphs, 12);
}

// Forward passes with sums have plans where HasCudnnSums says so: the net asks for them there
// alone.
TEST_P(CudnnPlansTest, SumsOfResults) {
  const auto [gpu, type] = GetParam();
  const bool expected = HasCudnnSums(std::atoi(gpu + 2) / 10, type);
  const CudnnTarget target = TargetOf(gpu);
  std::set<std::string> without;
  int graphs = 0;
  for (const ShippedConvolution& convolution : Shipped()) {
    ConvolutionShape shape = convolution.shape;
    if (convolution.pass != ConvolutionPass::kForward || shape.groups != 1 ||
        !convolution.epilogue.nothing() || shape.channels % 8 != 0 || shape.outputs % 8 != 0) {
      continue;
    }
    // That there is no plan takes cuDNN long to find out.
    if (!expected && graphs == 3) break;
    shape.n = 256;
    const auto graph =
        NewConvolutionGraph(ConvolutionPass::kForward, shape, type, {false, false, true});
    ++graphs;
    if (graph == nullptr ||
        FindPlans(graph->operations, ConvolutionLimits(type, false), target).empty()) {
      without.insert(convolution.name);
    }
  }
  EXPECT_GE(graphs, expected ? 20 : 3);
  EXPECT_EQ(without.size(), expected ? 0u : static_cast<size_t>(graphs))
      << gpu << ", " << (without.empty() ? "" : *without.begin());
}

INSTANTIATE_TEST_SUITE_P(Gpus, CudnnPlansTest, testing::ValuesIn(Cases()), [](const auto& info) {
  return StrCat(std::get<0>(info.param), "_", Name(std::get<1>(info.param)));
});

}  // namespace
}  // namespace gf
