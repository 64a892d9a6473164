// Prices of operations on a GPU of round numbers, and the device that only counts.

#include <gtest/gtest.h>

#include <memory>

#include "core/estimate/estimate_device.h"
#include "core/estimate/price.h"

namespace gf {
namespace {

// 1 TB/s, 100 TFLOP/s in FP16, 10 in FP32.
Gpu RoundGpu() {
  Gpu gpu;
  gpu.bytes_per_s = 1e12;
  gpu.fp16 = 100e12;
  gpu.fp32 = 10e12;
  gpu.memory_share = 0.5;
  gpu.arithmetic_share = 0.25;
  gpu.launch_s = 1e-3;
  return gpu;
}

TEST(PriceTest, TheLongerOfMemoryAndArithmeticCounts) {
  Operation product;
  product.bytes = int64_t{20} * 1000 * 1000 * 1000;    // 20 ms
  product.flops = int64_t{1500} * 1000 * 1000 * 1000;  // 15 ms in FP16, 150 in FP32
  product.arithmetic = Arithmetic::kFP16;
  product.launches = 3;
  const OperationTime stated = StatedTime(product, RoundGpu());
  EXPECT_NEAR(stated.total(), 0.020, 1e-9);
  EXPECT_STREQ(stated.BoundBy(), "memory");
  // 40 ms against 60, and the launches.
  const OperationTime assumed = AssumedTime(product, RoundGpu());
  EXPECT_NEAR(assumed.total(), 0.063, 1e-9);
  EXPECT_NEAR(assumed.launches, 0.003, 1e-9);
  EXPECT_STREQ(assumed.BoundBy(), "arithmetic");
  product.arithmetic = Arithmetic::kFP32;
  EXPECT_NEAR(StatedTime(product, RoundGpu()).total(), 0.150, 1e-9);
}

TEST(PriceTest, TypesThatTensorCoresLackTakeTheOtherCores) {
  EXPECT_EQ(FlopsPerSecond(RoundGpu(), Arithmetic::kFP16), 100e12);
  EXPECT_EQ(FlopsPerSecond(RoundGpu(), Arithmetic::kTF32), 10e12);
  EXPECT_EQ(FlopsPerSecond(FindGpu("", "h200"), Arithmetic::kTF32), 494.5e12);
}

TEST(PriceTest, SumsAreBoundByTheirLargestPart) {
  Operation launch;
  launch.launches = 50;
  OperationTime sum = AssumedTime(launch, RoundGpu());
  EXPECT_STREQ(sum.BoundBy(), "launches");
  sum += OperationTime{0.1, 0.02, 0};
  EXPECT_STREQ(sum.BoundBy(), "memory");
  EXPECT_NEAR(sum.total(), 0.17, 1e-9);
}

TEST(EstimateDeviceTest, ItsMemoryMayNotBeTouched) {
  EstimateDevice device(FindGpu("", "h200"));
  const size_t tera = size_t{1} << 40;  // more than there is
  const std::shared_ptr<void> data = device.Allocate(tera);
  EXPECT_EQ(device.PeakBytes(), tera);
  EXPECT_DEATH(*static_cast<volatile char*>(data.get()) = 1, "");
}

TEST(EstimateDeviceTest, ConfigsCannotSelectIt) {
  const EstimateDevice device(FindGpu("", "h200"));
  EXPECT_FALSE(DeviceRegistry::Get().Has(device.name()));
}

}  // namespace
}  // namespace gf
