// Error feedback on every device: ranges of a pool, the bits of the processor's kernels.
#include "comm/feedback/feedback_arithmetic.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "comm/feedback/kernels.h"
#include "core/host_copy.h"
#include "core/random.h"
#include "tests/comm/wire/number_formats.h"
#include "tests/core/test_devices.h"

namespace gf {
namespace {

constexpr int64_t kCount = 133011;

class FeedbackArithmeticTest : public testing::TestWithParam<std::string> {
 protected:
  FeedbackArithmeticTest() : device_(DeviceRegistry::Get().Create("device", GetParam(), 2)) {
    Random random(7, 7);
    for (int64_t i = 0; i < kCount; ++i) {
      g_.push_back(random.Gaussian());
      h_.push_back(0.01f * random.Gaussian());
    }
  }

  Tensor Upload(const std::vector<float>& values) const {
    Tensor tensor;
    tensor.desc = {Shape{kCount}, DType::kFP32, Layout()};
    tensor.owner = device_->Allocate(tensor.desc.bytes());
    tensor.data = tensor.owner.get();
    device_->CopyFromHost(values.data(), tensor.data, tensor.desc.bytes(),
                          device_->compute_stream());
    return tensor;
  }

  void ExpectBits(const std::vector<float>& expected, const Tensor& tensor,
                  const std::string& what) const {
    const HostCopy copy(device_.get(), tensor);
    const float* const values = copy.tensor().as<float>();
    for (int64_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(BitsOf(values[i]), BitsOf(expected[i])) << what << " " << i;
    }
  }

  const std::unique_ptr<Device> device_;
  std::vector<float> g_, h_;
};

TEST_P(FeedbackArithmeticTest, RoundsRangesAndLeavesTheRest) {
  // Aligned and not, of one element and of many.
  const ElementRange ranges[] = {{0, 1}, {32, 4096}, {4097, 4098}, {5001, 70003}, {70016, kCount}};
  for (const DType wire : {DType::kBF16, DType::kFP16}) {
    SCOPED_TRACE(Name(wire));
    const FeedbackPools pools = {Upload(g_), Upload(h_), wire};
    const auto arithmetic =
        FeedbackArithmeticRegistry::Get().Create("device", GetParam(), device_.get(), pools);
    std::vector<float> g = g_, h = h_;
    const auto round = wire == DType::kBF16 ? Feedback().bf16 : Feedback().fp16;
    for (const ElementRange& range : ranges) {
      arithmetic->Round(range);
      round(g.data() + range.begin, h.data() + range.begin, range.end - range.begin);
    }
    ExpectBits(g, pools.gradients, "gradient");
    ExpectBits(h, pools.residual, "residual");
    arithmetic->Rescale(0.3f);
    for (float& value : h) value *= 0.3f;
    ExpectBits(h, pools.residual, "rescaled residual");
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, FeedbackArithmeticTest, testing::ValuesIn(TestDevices()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace gf
