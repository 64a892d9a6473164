#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/cuda/cuda_device.h"
#include "core/cuda/item_groups.h"
#include "tests/comm/wire/number_formats.h"
#include "tests/core/test_devices.h"

namespace gf {

// Sets how many items a group has at most (Note [Indices of 31 bits]) for as long as it lives.
class ItemsOfGroup {
 public:
  explicit ItemsOfGroup(int64_t most) { MostItemsOfGroup() = most; }
  ~ItemsOfGroup() { MostItemsOfGroup() = INT32_MAX; }
};

// Tests of the GPU's kernels, called as layers call them, for a type of numbers.
class KernelTest : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (!HasTestGpu()) GTEST_SKIP() << "there is no GPU";
    device_ = std::make_unique<CudaDevice>();
  }

  cudaStream_t stream() const { return RawStream(device_->compute_stream()); }

  // Memory of the GPU.
  std::shared_ptr<void> Put(const void* from, size_t bytes) const {
    auto memory = device_->Allocate(bytes);
    device_->CopyFromHost(from, memory.get(), bytes, device_->compute_stream());
    return memory;
  }
  std::shared_ptr<void> Put(Numbers numbers) const {
    return Put(numbers.data(), numbers.count() * SizeOf(numbers.type()));
  }
  Numbers Get(const std::shared_ptr<void>& memory, DType type, int64_t count) const {
    Numbers numbers(type, count);
    device_->CopyToHost(memory.get(), numbers.data(), count * SizeOf(type),
                        device_->compute_stream());
    return numbers;
  }
  // Space for so many numbers, each NaN.
  std::shared_ptr<void> NewNumbers(DType type, int64_t count) const {
    Numbers numbers(type, count);
    for (int64_t i = 0; i < count; ++i) numbers.Set(i, std::nanf(""));
    return Put(numbers);
  }

  static void ExpectSame(const Numbers& found, const Numbers& expected, const std::string& what) {
    ASSERT_EQ(found.count(), expected.count());
    for (int64_t i = 0; i < expected.count(); ++i) {
      ASSERT_TRUE(SameNumber(found.Get(i), expected.Get(i)))
          << what << ", element " << i << ": " << found.Get(i) << ", expected " << expected.Get(i);
    }
  }

  std::unique_ptr<CudaDevice> device_;
};

#define GF_FOR_EVERY_TYPE(Test)                                               \
  INSTANTIATE_TEST_SUITE_P(                                                   \
      Types, Test, testing::Values(DType::kFP32, DType::kFP16, DType::kBF16), \
      [](const testing::TestParamInfo<DType>& info) { return std::string(Name(info.param)); })

}  // namespace gf
