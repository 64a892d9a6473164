#include "core/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gf {
namespace {

float Bits(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

TEST(DTypeTest, SizesAndNames) {
  EXPECT_EQ(SizeOf(DType::kFP32), 4u);
  EXPECT_EQ(SizeOf(DType::kFP16), 2u);
  EXPECT_EQ(SizeOf(DType::kBF16), 2u);
  EXPECT_EQ(SizeOf(DType::kUINT8), 1u);
  EXPECT_EQ(SizeOf(DType::kINT64), 8u);
  EXPECT_STREQ(Name(DType::kFP32), "FP32");
  EXPECT_STREQ(Name(DType::kBF16), "BF16");
}

TEST(BF16Test, EveryValueSurvivesTheWayThroughFP32) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float value = FromBF16(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(FromBF16(ToBF16(value)))) << bits;
    } else {
      EXPECT_EQ(ToBF16(value), bits);
    }
  }
}

TEST(BF16Test, RoundsToNearestTiesToEven) {
  EXPECT_EQ(ToBF16(Bits(0x3f807fff)), 0x3f80);  // below the middle
  EXPECT_EQ(ToBF16(Bits(0x3f808000)), 0x3f80);  // the middle, even below
  EXPECT_EQ(ToBF16(Bits(0x3f808001)), 0x3f81);  // above the middle
  EXPECT_EQ(ToBF16(Bits(0x3f818000)), 0x3f82);  // the middle, even above
  EXPECT_EQ(ToBF16(Bits(0xbf818000)), 0xbf82);  // the sign plays no part
  EXPECT_EQ(ToBF16(Bits(0x3fffffff)), 0x4000);  // the carry reaches the exponent
}

TEST(BF16Test, LargeFiniteValuesRoundToInfinity) {
  EXPECT_EQ(ToBF16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(ToBF16(Bits(0x7f7f7fff)), 0x7f7f);
}

TEST(BF16Test, InfinityAndZeroKeepTheirSigns) {
  EXPECT_EQ(ToBF16(std::numeric_limits<float>::infinity()), 0x7f80);
  EXPECT_EQ(ToBF16(-std::numeric_limits<float>::infinity()), 0xff80);
  EXPECT_EQ(ToBF16(0.0f), 0);
  EXPECT_EQ(ToBF16(-0.0f), 0x8000);
}

TEST(BF16Test, NaNStaysNaN) {
  // Payloads that lie in the lower half only, or that would overflow when rounded up.
  for (uint32_t bits : {0x7f800001u, 0x7fffffffu, 0xff800001u, 0xffffffffu, 0x7fc00000u}) {
    EXPECT_TRUE(std::isnan(FromBF16(ToBF16(Bits(bits))))) << std::hex << bits;
  }
}

TEST(BF16Test, DenormalsAreKept) {
  EXPECT_EQ(ToBF16(Bits(0x00010000)), 0x0001);
  EXPECT_EQ(ToBF16(Bits(0x00018000)), 0x0002);
  EXPECT_EQ(ToBF16(Bits(0x00007fff)), 0x0000);
}

}  // namespace
}  // namespace gf
