#pragma once

#include <cstdint>

namespace gf {

// Divides integers below 2^31 by a divisor that is known before a kernel starts, with a high
// product, an addition and a shift instead of a division. With l = ceil(log2(d)) the quotient is
//   floor(n * (2^32 + m) / 2^(32 + l)),  m = floor(2^32 * (2^l - d) / d) + 1 < 2^32,
// from figure 4.1 of T. Granlund and P. L. Montgomery, "Division by Invariant Integers using
// Multiplication", PLDI 1994. Because n < 2^31, n + floor(n * m / 2^32) does not overflow.
class FastDivide {
 public:
  struct Result {
    uint32_t quotient, remainder;
  };

  constexpr FastDivide() = default;  // divides by 1
  // `divisor` is 1 to 2^31.
  constexpr explicit FastDivide(uint32_t divisor) : divisor_(divisor) {
    while ((uint64_t{1} << shift_) < divisor) ++shift_;
    const uint64_t above = (uint64_t{1} << shift_) - divisor;
    multiplier_ = static_cast<uint32_t>((above << 32) / divisor + 1);
  }

  constexpr uint32_t divisor() const { return divisor_; }

  // n / divisor for n < 2^31.
  constexpr uint32_t Quotient(uint32_t n) const {
    const auto high = static_cast<uint32_t>(uint64_t{n} * multiplier_ >> 32);
    return (n + high) >> shift_;
  }
  constexpr Result Divide(uint32_t n) const {
    const uint32_t quotient = Quotient(n);
    return {quotient, n - quotient * divisor_};
  }

 private:
  uint32_t divisor_ = 1, multiplier_ = 1, shift_ = 0;
};

// Divides n by d, both known to be so small that n * d < 2^64, with one high product. With m =
// ceil(2^64 / d) and e = m * d - 2^64 < d the product is n / d + n * e / (d * 2^64), which exceeds
// n / d by less than 1 / d, so that rounding down gives the quotient.
class FastDivideLong {
 public:
  constexpr FastDivideLong() = default;  // divides by 1
  constexpr explicit FastDivideLong(uint32_t divisor)
      : divisor_(divisor), multiplier_(divisor == 1 ? 0 : ~uint64_t{0} / divisor + 1) {}

  constexpr uint32_t divisor() const { return divisor_; }
  constexpr uint64_t Quotient(uint64_t n) const {
    __extension__ using Wide = unsigned __int128;
    const auto high = static_cast<uint64_t>(static_cast<Wide>(n) * multiplier_ >> 64);
    return multiplier_ == 0 ? n : high;
  }

 private:
  uint32_t divisor_ = 1;
  uint64_t multiplier_ = 0;
};

}  // namespace gf
