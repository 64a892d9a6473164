// Ranges of a pool on every device.
#include "comm/pack/range_packer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/host_copy.h"
#include "tests/core/test_devices.h"

namespace gf {
namespace {

class RangePackerTest : public testing::TestWithParam<std::string> {
 protected:
  RangePackerTest() : device_(DeviceRegistry::Get().Create("device", GetParam(), 2)) {}

  // Numbered elements of two bytes each.
  Tensor New(int64_t count, int first) const {
    Tensor tensor;
    tensor.desc = {Shape{count}, DType::kBF16, Layout()};
    tensor.owner = device_->Allocate(tensor.desc.bytes());
    tensor.data = tensor.owner.get();
    HostCopy copy(device_.get(), tensor);
    for (int64_t i = 0; i < count; ++i) {
      copy.tensor().as<uint16_t>()[i] = static_cast<uint16_t>(first + i);
    }
    copy.Put();
    return tensor;
  }

  std::vector<uint16_t> Values(const Tensor& tensor) const {
    const HostCopy copy(device_.get(), tensor);
    const uint16_t* const values = copy.tensor().as<uint16_t>();
    return {values, values + tensor.desc.storage_count()};
  }

  const std::unique_ptr<Device> device_;
};

TEST_P(RangePackerTest, CopiesRangesAndNothingElse) {
  const std::vector<ElementRange> ranges = {{0, 1}, {3, 3}, {7, 1000}, {2000, 2003}};
  const Tensor pool = New(3000, 10), packed = New(998, 20000);
  const std::vector<uint16_t> before = Values(pool);
  std::vector<uint16_t> expected;
  for (const ElementRange& range : ranges) {
    expected.insert(expected.end(), before.begin() + range.begin, before.begin() + range.end);
  }
  expected.push_back(20997);  // behind the ranges
  const auto create = [&](const Tensor& from) {
    return RangePackerRegistry::Get().Create("device", GetParam(), device_.get(),
                                             {from, packed, ranges});
  };
  create(pool)->Pack();
  EXPECT_EQ(Values(packed), expected);
  EXPECT_EQ(Values(pool), before);

  const Tensor other = New(3000, 30000);
  std::vector<uint16_t> unpacked = Values(other);
  create(other)->Unpack();
  for (const ElementRange& range : ranges) {
    std::copy(before.begin() + range.begin, before.begin() + range.end,
              unpacked.begin() + range.begin);
  }
  EXPECT_EQ(Values(other), unpacked);
}

// FP32 numbers on the device.
Tensor NewFloats(Device* device, const std::vector<float>& values) {
  Tensor tensor;
  tensor.desc = {Shape{static_cast<int64_t>(values.size())}, DType::kFP32, Layout()};
  tensor.owner = device->Allocate(tensor.desc.bytes());
  tensor.data = tensor.owner.get();
  HostCopy copy(device, tensor);
  std::copy(values.begin(), values.end(), copy.tensor().as<float>());
  copy.Put();
  return tensor;
}

std::vector<float> Floats(Device* device, const Tensor& tensor) {
  const HostCopy copy(device, tensor);
  const float* const values = copy.tensor().as<float>();
  return {values, values + tensor.desc.storage_count()};
}

TEST_P(RangePackerTest, MergesResidualsOfSomeRanges) {
  const std::vector<ElementRange> ranges = {{0, 2}, {3, 703}, {704, 1000}, {1001, 1003}};
  std::vector<float> gradients, kept;
  for (int i = 0; i < 1010; ++i) {
    gradients.push_back(0.37f * static_cast<float>(i % 13) - 2);
    kept.push_back(i % 3 == 0 ? 0.f : 1.f / static_cast<float>(i));
  }
  gradients[3] = -0.f;  // plus 0: keeps its sign
  for (const bool fp32 : {true, false}) {
    std::vector<float> expected = gradients, expected_kept = kept;
    const Tensor residual = NewFloats(device_.get(), kept);
    Tensor pool = NewFloats(device_.get(), gradients), packed = New(1000, 0);
    if (fp32) {
      packed = NewFloats(device_.get(), gradients);
    } else {
      pool = New(1010, 0);
      HostCopy copy(device_.get(), pool);
      for (int i = 0; i < 1010; ++i) copy.tensor().as<uint16_t>()[i] = ToBF16(gradients[i]);
      copy.Put();
    }
    for (int i = 0; i < 1010; ++i) {
      if (!fp32) expected[i] = FromBF16(ToBF16(expected[i]));
      if (i < 3 || i >= 1000 || i == 703) continue;
      expected[i] = kept[i] == 0 ? expected[i] : expected[i] + kept[i];
      if (!fp32) expected[i] = FromBF16(ToBF16(expected[i]));
      expected_kept[i] = 0;
    }
    const auto packer = RangePackerRegistry::Get().Create("device", GetParam(), device_.get(),
                                                          {pool, packed, ranges, residual});
    packer->Merge(1, 1);
    packer->Merge(1, 3);
    std::vector<float> merged;
    if (fp32) {
      merged = Floats(device_.get(), pool);
    } else {
      for (uint16_t value : Values(pool)) merged.push_back(FromBF16(value));
    }
    EXPECT_EQ(merged, expected);
    EXPECT_TRUE(std::signbit(merged[3]));
    EXPECT_EQ(Floats(device_.get(), residual), expected_kept);
  }
}

TEST_P(RangePackerTest, NoRangesAreNoWork) {
  const Tensor pool = New(10, 1), packed = New(1, 5);
  const auto packer =
      RangePackerRegistry::Get().Create("device", GetParam(), device_.get(), {pool, packed, {}});
  packer->Pack();
  packer->Unpack();
  EXPECT_EQ(Values(packed), std::vector<uint16_t>{5});
}

INSTANTIATE_TEST_SUITE_P(Devices, RangePackerTest, testing::ValuesIn(TestDevices()));

}  // namespace
}  // namespace gf
