#include <gtest/gtest.h>

#include <stdexcept>

#include "core/cuda/fast_divide_inline.h"
#include "core/cuda/item_groups.h"

namespace gf {
namespace {

constexpr uint32_t kEnd = uint32_t{1} << 31;  // of the dividends

// Without an EXPECT per number, of which there are many.
bool Right(const FastDivide& divide, uint32_t n, uint32_t d) {
  const FastDivide::Result result = divide.Divide(n);
  return result.quotient == n / d && result.remainder == n % d && divide.Quotient(n) == n / d;
}

// Every multiple of d at which a quotient changes is the hardest dividend of its quotient, from
// both sides; so are the largest dividends.
void ExpectRightAround(uint32_t d) {
  const FastDivide divide(d);
  ASSERT_EQ(divide.divisor(), d);
  const auto check = [&](uint64_t n) {
    for (uint64_t near : {n - 1, n, n + 1}) {
      if (near >= kEnd) continue;
      ASSERT_TRUE(Right(divide, static_cast<uint32_t>(near), d)) << near << " / " << d;
    }
  };
  const uint64_t last = (kEnd - 1) / d;
  for (uint64_t q = 0; q <= last && q < 64; ++q) {
    check(q * d);
    check((last - q) * d);
  }
  for (int bit = 0; bit < 31; ++bit) check((uint64_t{1} << bit) / d * d + d);
  for (int bit = 0; bit < 31; ++bit) check(uint64_t{1} << bit);
  check(kEnd - 1);
}

TEST(FastDivideTest, EverySmallDivisorAndDividend) {
  for (uint32_t d = 1; d <= 1100; ++d) {
    const FastDivide divide(d);
    for (uint32_t n = 0; n < 6000; ++n) ASSERT_TRUE(Right(divide, n, d)) << n << " / " << d;
  }
}

TEST(FastDivideTest, EveryDivisorOfSixteenBitsAtItsHardestDividends) {
  for (uint32_t d = 1; d < (1u << 16); ++d) ExpectRightAround(d);
}

TEST(FastDivideTest, LargeDivisors) {
  for (int bit = 16; bit <= 31; ++bit) {
    const uint32_t power = uint32_t{1} << bit;
    for (uint32_t d : {power - 2, power - 1, power, power + 1, power + 3, power / 3 * 4 + 1}) {
      if (d <= kEnd) ExpectRightAround(d);
    }
  }
  for (uint64_t d = 65537; d < kEnd; d = d * 257 / 256 + 1) {
    ExpectRightAround(static_cast<uint32_t>(d));
  }
}

TEST(FastDivideTest, DividendsAllOverTheRange) {
  for (uint32_t d : {1u, 3u, 7u, 24u, 56u, 112u, 224u, 227u, 641u, 12544u, 50176u, 1000003u}) {
    const FastDivide divide(d);
    for (uint64_t n = 0; n < kEnd; n += 1009) {
      ASSERT_TRUE(Right(divide, static_cast<uint32_t>(n), d)) << n << " / " << d;
    }
  }
}

TEST(FastDivideTest, DividesByOneUnlessTold) {
  const FastDivide divide;
  for (uint32_t n : {0u, 1u, kEnd - 1}) EXPECT_TRUE(Right(divide, n, 1));
}

TEST(FastDivideTest, LongDividendsUpToTwoToTheSixtyFourWithTheDivisor) {
  for (uint64_t d = 1; d < uint64_t{1} << 32; d = d * 17 / 16 + 1) {
    const FastDivideLong divide(static_cast<uint32_t>(d));
    ASSERT_EQ(divide.divisor(), d);
    const uint64_t end = d == 1 ? ~uint64_t{0} : (~uint64_t{0} - 1) / d;  // n * d < 2^64
    const auto check = [&](uint64_t n) {
      for (uint64_t near : {n - 1, n, n + 1}) {
        if (near >= end) continue;
        ASSERT_EQ(divide.Quotient(near), near / d) << near << " / " << d;
      }
    };
    for (uint64_t q = 0; q < 100; ++q) {
      check(q * d);
      check((end / d - q) * d);
    }
    for (int bit = 0; bit < 64; ++bit) check((uint64_t{1} << bit) / d * d);
    check(end - 2);
  }
}

TEST(ItemGroupsTest, AreWholeRows) {
  MostItemsOfGroup() = 100;
  EXPECT_EQ(GroupsOf(7, 30).rows_of_group, 3);
  EXPECT_EQ(GroupsOf(7, 30).count(), 3);
  EXPECT_EQ(GroupsOf(3, 30).count(), 1);
  EXPECT_EQ(GroupsOf(7, 15, 4).rows_of_group, 4);
  EXPECT_EQ(GroupsOf(0, 15, 4).count(), 0);
  EXPECT_EQ(GroupsOf(5, 0).count(), 1);
  EXPECT_THROW(GroupsOf(1, 101), std::logic_error);
  EXPECT_THROW(GroupsOf(7, 30, 4), std::logic_error);
  MostItemsOfGroup() = INT32_MAX;
  EXPECT_EQ(GroupsOf(int64_t{1} << 32, 3).rows_of_group, INT32_MAX / 3);
}

}  // namespace
}  // namespace gf
