// How FindConvolution chooses, on a GPU or on the emulated one.

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/cuda/cuda_device.h"
#include "layers/cuda/cudnn/convolution_check.h"
#include "layers/cuda/cudnn/convolution_trial.h"
#include "layers/cuda/cudnn/cudnn_convolution.h"
#include "layers/cuda/cudnn/folded_convolution.h"
#include "layers/depthwise.h"
#include "tests/core/test_devices.h"

namespace gf {
namespace {

constexpr ConvolutionPass kPasses[] = {ConvolutionPass::kForward, ConvolutionPass::kBackwardData,
                                       ConvolutionPass::kBackwardFilter};

class ConvolutionChoiceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasTestGpu()) GTEST_SKIP() << "no GPU";
    device_ = std::make_unique<CudaDevice>();
  }

  bool IsEmulated() const {
    const std::string gpu = device_->context().properties().name;
    return gpu.find("emulated") != std::string::npos;
  }

  std::unique_ptr<CudaDevice> device_;
};

// AlexNet's conv5.
ConvolutionShape Grouped() {
  ConvolutionShape s;
  s.n = 1;
  s.channels = 384;
  s.outputs = 256;
  s.groups = 2;
  for (int i = 0; i < 2; ++i) {
    s.in[i] = s.out[i] = 13;
    s.kernel[i] = 3;
    s.stride[i] = s.pad[i] = s.dilation[i] = 1;
  }
  return s;
}

// With the same groups, but small: each pass has a little more results than are compared.
ConvolutionShape Small(int64_t images) {
  ConvolutionShape s = Grouped();
  s.n = images;
  s.channels = 8;
  s.outputs = 8;
  for (int i = 0; i < 2; ++i) s.in[i] = s.out[i] = 7;
  return s;
}

// cuDNN has engines for groups with an epilogue, but on an H200 none on tensor cores: by its word
// alone they are not taken.
TEST_F(ConvolutionChoiceTest, TensorCoresBeatAnEpilogueInTheSameGraph) {
  ConvolutionRequest request = {ConvolutionPass::kForward, Grouped(), DType::kFP16, {true, true}};
  request.deterministic = true;
  const std::string how = FindConvolution(request, device_.get())->Describe();
  EXPECT_NE(how.find("tensor cores"), std::string::npos) << how;
}

TEST_F(ConvolutionChoiceTest, GroupsOneByOneGiveTheSameResults) {
  if (!IsEmulated()) GTEST_SKIP() << "a GPU chooses by time";
  ConvolutionRequest request = {ConvolutionPass::kForward, Grouped(), DType::kFP16, {true, true}};
  request.deterministic = true;
  const auto convolution = FindConvolution(request, device_.get());
  EXPECT_NE(convolution->Describe().find("by group"), std::string::npos) << convolution->Describe();
  const ConvolutionTrial trial(request.shape, request.type, device_.get());
  ConvolutionCheck check(request, trial, device_.get());
  check.ClearResult();
  const auto workspace = device_->Allocate(convolution->workspace_bytes());
  convolution->Run(trial.MemoryFor(request.epilogue), workspace.get());
  EXPECT_LT(check.Error(request.epilogue), check.largest_error());
}

// A depthwise convolution of 16 channels.
ConvolutionShape Depthwise() {
  ConvolutionShape s = Small(2);
  s.channels = s.outputs = s.groups = 16;
  return s;
}

TEST_F(ConvolutionChoiceTest, DeterministicDepthwiseConvolutionsTakeOwnKernels) {
  for (const ConvolutionPass pass : kPasses) {
    ConvolutionRequest request = {pass, Depthwise(), DType::kFP16, {}};
    request.deterministic = true;
    EXPECT_EQ(FindConvolution(request, device_.get())->Describe(), "own depthwise kernels");
    WayOfDepthwise() = DepthwiseWay::kLibrary;
    EXPECT_EQ(FindConvolution(request, device_.get())->Describe().find("own"), std::string::npos);
    WayOfDepthwise() = DepthwiseWay::kFaster;
    request.shape = Small(2);
    EXPECT_EQ(FindConvolution(request, device_.get())->Describe().find("own"), std::string::npos)
        << "groups of many channels";
  }
}

TEST_F(ConvolutionChoiceTest, DepthwiseConvolutionsAreRightWhicheverIsFaster) {
  for (const DType type : {DType::kFP32, DType::kFP16, DType::kBF16}) {
    for (const ConvolutionPass pass : kPasses) {
      for (const DepthwiseWay way : {DepthwiseWay::kFaster, DepthwiseWay::kOwn}) {
        WayOfDepthwise() = way;
        ConvolutionRequest request = {pass, Depthwise(), type, {}};
        if (pass == ConvolutionPass::kForward) request.epilogue = {true, true};
        const auto convolution = FindConvolution(request, device_.get());
        WayOfDepthwise() = DepthwiseWay::kFaster;
        const ConvolutionTrial trial(request.shape, type, device_.get());
        ConvolutionCheck check(request, trial, device_.get());
        check.ClearResult();
        const auto workspace = device_->Allocate(convolution->workspace_bytes());
        convolution->Run(trial.MemoryFor(request.epilogue), workspace.get());
        EXPECT_LT(check.Error(request.epilogue), check.largest_error()) << Name(type);
      }
    }
  }
}

// Convolutions of color images as in ResNet and AlexNet, with borders that are multiples of the
// stride and others, with unequal axes, and one whose images end with pixels that no filter
// reaches.
std::vector<ConvolutionShape> Foldable() {
  std::vector<ConvolutionShape> shapes;
  const auto add = [&](int64_t channels, const int64_t(&in)[2], const int64_t(&kernel)[2],
                       const int64_t(&stride)[2], const int64_t(&pad)[2]) {
    ConvolutionShape s;
    s.n = 2;
    s.channels = channels;
    s.outputs = 16;
    for (int i = 0; i < 2; ++i) {
      s.in[i] = in[i], s.kernel[i] = kernel[i], s.stride[i] = stride[i], s.pad[i] = pad[i];
      s.dilation[i] = 1;
      s.out[i] = (in[i] + 2 * pad[i] - kernel[i]) / stride[i] + 1;
    }
    shapes.push_back(s);
  };
  add(3, {14, 18}, {7, 7}, {2, 2}, {3, 3});
  add(3, {27, 29}, {11, 11}, {4, 4}, {0, 0});
  add(3, {24, 24}, {11, 11}, {4, 4}, {2, 2});
  add(3, {9, 8}, {3, 3}, {2, 2}, {1, 1});
  add(1, {12, 13}, {5, 4}, {3, 2}, {2, 1});
  add(4, {7, 11}, {1, 5}, {1, 3}, {0, 2});
  return shapes;
}

TEST_F(ConvolutionChoiceTest, FoldedImagesGiveTheSameResults) {
  for (const DType type : {DType::kFP16, DType::kBF16}) {
    for (const ConvolutionShape& shape : Foldable()) {
      for (const ConvolutionPass pass :
           {ConvolutionPass::kForward, ConvolutionPass::kBackwardFilter}) {
        ConvolutionRequest request = {pass, shape, type, {}};
        if (pass == ConvolutionPass::kForward) request.epilogue = {true, true};
        ASSERT_TRUE(CanFold(request));
        for (const FoldWidth width : {FoldWidth::kStride, FoldWidth::kFilters}) {
          const auto folded = NewFoldedPass(
              request, width, FindConvolution(FoldedRequest(request, width), device_.get()),
              device_->context().compute_stream()->get());
          const ConvolutionTrial trial(request.shape, type, device_.get());
          ConvolutionCheck check(request, trial, device_.get());
          check.ClearResult();
          const auto workspace = device_->Allocate(folded->workspace_bytes());
          folded->Run(trial.MemoryFor(request.epilogue), workspace.get());
          EXPECT_LT(check.Error(request.epilogue), check.largest_error())
              << Name(type) << ", filters of " << shape.kernel[0] << " x " << shape.kernel[1];
        }
      }
    }
  }
}

// Convolutions with sums, by the engine and by a kernel: FP16 and others, channels in fours or not.
TEST_F(ConvolutionChoiceTest, SumsBelongToTheResults) {
  for (const DType type : {DType::kFP16, DType::kBF16, DType::kFP32}) {
    for (const int64_t outputs : {8, 6}) {
      for (const bool deterministic : {false, true}) {
        ConvolutionRequest request = {ConvolutionPass::kForward, Small(2), type, {}, deterministic};
        request.shape.groups = 1;
        request.shape.outputs = outputs;
        request.epilogue = {false, false, true};
        const auto convolution = FindConvolution(request, device_.get());
        const ConvolutionTrial trial(request.shape, type, device_.get());
        ConvolutionCheck check(request, trial, device_.get());
        check.ClearResult();
        EXPECT_TRUE(std::isnan(check.Error(request.epilogue)));
        const auto workspace = device_->Allocate(convolution->workspace_bytes());
        convolution->Run(trial.MemoryFor(request.epilogue), workspace.get());
        EXPECT_LT(check.Error(request.epilogue), check.largest_error()) << Name(type);
        if (IsEmulated() && type == DType::kFP16 && outputs == 8) {
          EXPECT_NE(convolution->Describe().find("with sums"), std::string::npos)
              << convolution->Describe();
        }
        // The sums alone, wrong in one place.
        std::vector<float> sums(2 * outputs);
        const size_t bytes = sums.size() * sizeof(float);
        device_->CopyToHost(trial.sums(), sums.data(), bytes, device_->compute_stream());
        sums[outputs + 3] *= 1.02f;
        device_->CopyFromHost(sums.data(), trial.sums(), bytes, device_->compute_stream());
        EXPECT_GT(check.Error(request.epilogue), 0.019);
      }
    }
  }
}

TEST_F(ConvolutionChoiceTest, DeterministicConvolutionsOfColorImagesAreFolded) {
  ConvolutionRequest request = {ConvolutionPass::kForward, Foldable()[0], DType::kFP16, {}};
  request.deterministic = true;
  const auto how = [&] { return FindConvolution(request, device_.get())->Describe(); };
  EXPECT_NE(how().find("folded"), std::string::npos) << how();
  request.pass = ConvolutionPass::kBackwardFilter;
  EXPECT_NE(how().find("folded"), std::string::npos) << how();
  request.pass = ConvolutionPass::kBackwardData;
  EXPECT_EQ(how().find("folded"), std::string::npos) << how();
}

TEST(FoldedConvolutionTest, OtherConvolutionsStayAsTheyAre) {
  const ConvolutionRequest request = {ConvolutionPass::kForward, Foldable()[0], DType::kFP16, {}};
  EXPECT_TRUE(CanFold(request));
  const auto refuses = [&](const auto& change) {
    ConvolutionRequest other = request;
    change(&other);
    return !CanFold(other);
  };
  EXPECT_TRUE(refuses([](ConvolutionRequest* r) { r->type = DType::kFP32; })) << "no tensor cores";
  EXPECT_TRUE(refuses([](ConvolutionRequest* r) { r->pass = ConvolutionPass::kBackwardData; }));
  EXPECT_TRUE(refuses([](ConvolutionRequest* r) { r->shape.stride[0] = r->shape.stride[1] = 1; }));
  EXPECT_TRUE(refuses([](ConvolutionRequest* r) { r->shape.dilation[1] = 2; }));
  EXPECT_TRUE(refuses([](ConvolutionRequest* r) { r->shape.groups = 3; }));
  EXPECT_TRUE(refuses([](ConvolutionRequest* r) { r->shape.channels = 5; }));
  EXPECT_TRUE(refuses([](ConvolutionRequest* r) { r->shape.kernel[0] = 1; })) << "gaps";
  EXPECT_TRUE(refuses([](ConvolutionRequest* r) { r->shape.stride[0] = r->shape.kernel[0] = 11; }))
      << "66 channels";
}

TEST_F(ConvolutionChoiceTest, TrialsRunOnRandomNumbers) {
  ConvolutionShape shape = Grouped();
  shape.channels = 2;
  const ConvolutionTrial trial(shape, DType::kFP32, device_.get());
  std::set<float> seen;
  for (const auto& [data, count] :
       {std::pair(trial.x(), shape.x_count()), std::pair(trial.w(), shape.w_count()),
        std::pair(trial.bias(), shape.outputs)}) {
    std::vector<float> values(count);
    device_->CopyToHost(data, values.data(), count * sizeof(float), device_->compute_stream());
    double sum = 0;
    for (float value : values) {
      EXPECT_TRUE(value >= -1 && value < 1) << value;
      sum += value;
      seen.insert(value);
    }
    // Four standard deviations.
    EXPECT_LT(std::abs(sum), 4 * std::sqrt(static_cast<double>(count) / 3));
  }
  EXPECT_GT(seen.size(), 1000u);
}

class ConvolutionCheckTest : public ConvolutionChoiceTest {
 protected:
  void ComputeByDefinition(const ConvolutionRequest& request, const ConvolutionTrial& trial) {
    const ConvolutionShape& s = request.shape;
    const cudaStream_t stream = device_->context().compute_stream()->get();
    if (request.pass == ConvolutionPass::kForward) {
      DirectForward(s, request.type, trial.x(), trial.w(), trial.y(), stream);
    } else if (request.pass == ConvolutionPass::kBackwardData) {
      DirectBackwardData(s, request.type, trial.x(), trial.w(), trial.y(), stream);
    } else {
      DirectBackwardFilter(s, request.type, trial.x(), trial.w(), trial.y(), stream);
    }
  }

  void ClearLastNinth(const ConvolutionRequest& request, const ConvolutionTrial& trial) {
    const ConvolutionShape& s = request.shape;
    void* result = trial.y();
    int64_t count = s.y_count();
    if (request.pass == ConvolutionPass::kBackwardData) result = trial.x(), count = s.x_count();
    if (request.pass == ConvolutionPass::kBackwardFilter) result = trial.w(), count = s.w_count();
    const size_t bytes = count / 9 * SizeOf(request.type);
    device_->Zero(static_cast<char*>(result) + 8 * bytes, bytes, device_->compute_stream());
  }
};

TEST_F(ConvolutionCheckTest, TellsRightFromWrongResults) {
  for (const DType type : {DType::kFP32, DType::kFP16, DType::kBF16}) {
    for (const ConvolutionPass pass : kPasses) {
      const ConvolutionRequest request = {pass, Small(1), type, {}};
      const ConvolutionTrial trial(request.shape, type, device_.get());
      ConvolutionCheck check(request, trial, device_.get());
      check.ClearResult();
      EXPECT_TRUE(std::isnan(check.Error({}))) << Name(type);
      ComputeByDefinition(request, trial);
      EXPECT_LT(check.Error({}), check.largest_error() / 2) << Name(type);
      ClearLastNinth(request, trial);
      EXPECT_GT(check.Error({}), 10 * check.largest_error()) << Name(type);
    }
  }
}

// Engines that are wrong in a ninth of the results, with and without an epilogue, are not taken.
TEST_F(ConvolutionCheckTest, WrongEnginesAreNotTaken) {
  if (!IsEmulated()) GTEST_SKIP() << "only the emulated cuDNN has wrong engines";
  int64_t images = 1;
  for (const char* wrong : {"skips", "halves"}) {
    for (const bool deterministic : {false, true}) {
      ++images;  // not chosen yet in this process
      for (const ConvolutionPass pass : kPasses) {
        ConvolutionRequest request = {pass, Small(images), DType::kFP32, {}, deterministic};
        if (pass == ConvolutionPass::kForward) request.epilogue = {true, true};
        setenv("GF_EMULATED_WRONG_ENGINE", wrong, 1);
        const auto convolution = FindConvolution(request, device_.get());
        const ConvolutionTrial trial(request.shape, request.type, device_.get());
        ConvolutionCheck check(request, trial, device_.get());
        check.ClearResult();
        const auto workspace = device_->Allocate(convolution->workspace_bytes());
        convolution->Run(trial.MemoryFor(request.epilogue), workspace.get());
        EXPECT_LT(check.Error(request.epilogue), check.largest_error());
        unsetenv("GF_EMULATED_WRONG_ENGINE");
      }
    }
  }
}

}  // namespace
}  // namespace gf
