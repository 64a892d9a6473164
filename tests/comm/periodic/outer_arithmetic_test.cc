// The end of a round on every device: ranges of a pool, the bits of the processor's kernels.
#include "comm/periodic/outer_arithmetic.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "comm/periodic/kernels.h"
#include "core/host_copy.h"
#include "core/random.h"
#include "tests/comm/wire/number_formats.h"
#include "tests/core/test_devices.h"

namespace gf {
namespace {

constexpr int64_t kCount = 133011;
// Aligned and not, of one element and of many.
const ElementRange kRanges[] = {{0, 1}, {32, 4096}, {4097, 4098}, {5001, 70003}, {70016, kCount}};

using Values = std::vector<float>;

class OuterArithmeticTest : public testing::TestWithParam<std::string> {
 protected:
  OuterArithmeticTest() : device_(DeviceRegistry::Get().Create("device", GetParam(), 2)) {}

  Values Draw(uint64_t stream) const {
    Random random(7, stream);
    Values values;
    for (int64_t i = 0; i < kCount; ++i) values.push_back(random.Gaussian());
    return values;
  }

  Tensor Upload(const Values& values) const {
    Tensor tensor;
    tensor.desc = {Shape{kCount}, DType::kFP32, Layout()};
    tensor.owner = device_->Allocate(tensor.desc.bytes());
    tensor.data = tensor.owner.get();
    device_->CopyFromHost(values.data(), tensor.data, tensor.desc.bytes(),
                          device_->compute_stream());
    return tensor;
  }

  void ExpectBits(const Values& expected, const Tensor& tensor, const std::string& what) const {
    const HostCopy copy(device_.get(), tensor);
    const float* const values = copy.tensor().as<float>();
    for (int64_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(BitsOf(values[i]), BitsOf(expected[i])) << what << " " << i;
    }
  }

  std::unique_ptr<OuterArithmetic> New(const OuterPools& pools, const OuterFactors& factors) const {
    return OuterArithmeticRegistry::Get().Create("device", GetParam(), device_.get(), pools,
                                                 factors);
  }

  const std::unique_ptr<Device> device_;
};

TEST_P(OuterArithmeticTest, SubtractsAndStepsInRangesAndLeavesTheRest) {
  for (const bool momentum : {false, true}) {
    Values w = Draw(1), a = Draw(2), d = Draw(3), v = Draw(4);
    OuterPools pools = {Upload(w), Upload(a), Upload(d), momentum ? Upload(v) : Tensor()};
    const OuterFactors factors = {0.7f, 0.9f, 3};
    const auto arithmetic = New(pools, factors);
    for (const ElementRange& range : kRanges) {
      const int64_t at = range.begin, count = range.end - range.begin;
      arithmetic->Subtract(range);
      Outer().subtract(&a[at], &w[at], &d[at], count);
      arithmetic->Step(range);
      if (momentum) {
        Outer().step_with_momentum(&d[at], &v[at], &a[at], &w[at], count, 1.f / 3, 0.7f, 0.9f);
      } else {
        Outer().step(&d[at], &a[at], &w[at], count, 1.f / 3, 0.7f);
      }
    }
    ExpectBits(d, pools.differences, "difference");
    ExpectBits(a, pools.anchor, "anchor");
    ExpectBits(w, pools.weights, "weight");
    if (momentum) ExpectBits(v, pools.velocity, "velocity");
  }
}

TEST_P(OuterArithmeticTest, CopiesTheAnchorAndReturnsToIt) {
  Values w = Draw(1);
  const Values a = Draw(2);
  const OuterPools pools = {Upload(w), Upload(a), Upload(a), {}};
  const auto arithmetic = New(pools, {});
  for (const ElementRange& range : kRanges) {
    arithmetic->Return(range);
    std::copy(&a[range.begin], &a[range.begin] + (range.end - range.begin), &w[range.begin]);
  }
  ExpectBits(w, pools.weights, "weight");
  arithmetic->Anchor();
  ExpectBits(w, pools.anchor, "anchor");
}

INSTANTIATE_TEST_SUITE_P(Devices, OuterArithmeticTest, testing::ValuesIn(TestDevices()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace gf
