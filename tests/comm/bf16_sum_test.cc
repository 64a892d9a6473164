#include "comm/bf16_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/dtype.h"
#include "core/random.h"

namespace gf {
namespace {

TEST(BF16SumTest, EveryLengthAddsInFP32AndRoundsOnce) {
  Random random(1, 1);
  for (int64_t n : {0, 1, 7, 31, 32, 33, 1000}) {
    std::vector<uint16_t> from(n), to(n), expected(n);
    for (int64_t i = 0; i < n; ++i) {
      from[i] = ToBF16(random.Gaussian());
      to[i] = ToBF16(random.Gaussian() * 100);
      expected[i] = ToBF16(FromBF16(to[i]) + FromBF16(from[i]));
    }
    BF16Sum().add(from.data(), to.data(), n);
    EXPECT_EQ(to, expected) << n;
  }
}

TEST(BF16SumTest, NaNAndInfinityStay) {
  // Long enough for the vector path.
  std::vector<uint16_t> from(64, 0x7f80), to(64, 0xff80);
  to[5] = 0x3f80;
  BF16Sum().add(from.data(), to.data(), 64);
  EXPECT_TRUE(std::isnan(FromBF16(to[0])));
  EXPECT_EQ(to[5], 0x7f80);
}

}  // namespace
}  // namespace gf
