// Ranges of a pool on every device.
#include "comm/pack/range_packer.h"

#include <gtest/gtest.h>

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
