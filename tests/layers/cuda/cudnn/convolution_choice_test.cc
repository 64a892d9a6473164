// How FindConvolution chooses, on a GPU or on the emulated one.

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/cuda/cuda_device.h"
#include "layers/cuda/cudnn/convolution_trial.h"
#include "layers/cuda/cudnn/cudnn_convolution.h"
#include "tests/core/test_devices.h"

namespace gf {
namespace {

class ConvolutionChoiceTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasTestGpu()) GTEST_SKIP() << "no GPU";
    device_ = std::make_unique<CudaDevice>();
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

// cuDNN has engines for groups with an epilogue, but on an H200 none on tensor cores: by its word
// alone they are not taken.
TEST_F(ConvolutionChoiceTest, TensorCoresBeatAnEpilogueInTheSameGraph) {
  ConvolutionRequest request = {ConvolutionPass::kForward, Grouped(), DType::kFP16, {true, true}};
  request.deterministic = true;
  const std::string how = FindConvolution(request, device_.get())->Describe();
  EXPECT_NE(how.find("tensor cores"), std::string::npos) << how;
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

}  // namespace
}  // namespace gf
