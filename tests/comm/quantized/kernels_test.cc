#include "comm/quantized/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "comm/quantized/quantized_buckets.h"
#include "comm/quantized/rotation_inline.h"
#include "tests/comm/wire/isa_test.h"
#include "tests/comm/wire/number_formats.h"

namespace gf {
namespace {

using Floats = std::vector<float>;
using Codes = std::vector<uint8_t>;
constexpr int kBlock = kQuantizedBlock;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Floats Gaussian(uint64_t seed, float scale = 1) {
  Random random(seed, 6);
  Floats values(kBlock);
  for (float& value : values) value = scale * random.Gaussian();
  return values;
}

// The code of an element, as messages have it.
int CodeOf(const Codes& codes, int bits, int i) {
  if (bits == 8) return static_cast<int8_t>(codes[i]);
  const int half = i < 128 ? codes[i] & 15 : codes[i - 128] >> 4;
  return half < 8 ? half : half - 16;
}

class QuantizedKernelsTest : public IsaTest {
 protected:
  const QuantizedKernels& kernels() const {
    return Choose(Quantized_baseline, Quantized_avx2, Quantized_avx512);
  }
  const QuantizedCodeFunctions& of(int bits) const {
    return bits == 8 ? kernels().bits8 : kernels().bits4;
  }
};

TEST_P(QuantizedKernelsTest, CodesAreTheNearestMultiplesOfTheScale) {
  for (const int bits : {8, 4}) {
    const float levels = bits == 8 ? 127 : 7;
    for (const float size : {1.f, 1e-25f, 1e30f}) {
      Floats x = Gaussian(bits, size);
      x[3] = x[200] = 0;
      x[77] = -4.5f * size;
      Codes codes(kBlock * bits / 8);
      const float scale = of(bits).encode(x.data(), codes.data());
      float largest = 0;
      for (const float value : x) largest = std::max(largest, std::abs(value));
      EXPECT_EQ(scale, largest / levels);
      const float inverse = levels / largest;
      Floats decoded(kBlock), added = x;
      of(bits).decode(scale, codes.data(), decoded.data());
      of(bits).add(scale, codes.data(), added.data());
      for (int i = 0; i < kBlock; ++i) {
        const int code = static_cast<int>(std::nearbyint(x[i] * inverse));
        ASSERT_EQ(CodeOf(codes, bits, i), code) << bits << " bits, " << i;
        ASSERT_EQ(decoded[i], scale * static_cast<float>(code));
        ASSERT_EQ(added[i], x[i] + decoded[i]);
      }
    }
  }
}

TEST_P(QuantizedKernelsTest, HalvesAreRoundedToEven) {
  Floats x(kBlock);
  for (int i = 0; i < 7; ++i) x[i] = static_cast<float>(i) + 0.5f;
  for (int i = 0; i < 7; ++i) x[128 + i] = -x[i];
  for (const int bits : {8, 4}) {
    x[100] = bits == 8 ? 127 : 7;
    Codes codes(kBlock * bits / 8);
    EXPECT_EQ(of(bits).encode(x.data(), codes.data()), 1);
    for (int i = 0; i < 7; ++i) {
      const int even = i % 2 == 0 ? i : i + 1;
      EXPECT_EQ(CodeOf(codes, bits, i), even);
      EXPECT_EQ(CodeOf(codes, bits, 128 + i), -even);
    }
  }
}

TEST_P(QuantizedKernelsTest, TinyValuesBecomeZeroAndInfiniteOnesNaN) {
  for (const int bits : {8, 4}) {
    Codes codes(kBlock * bits / 8, 0x5a);
    const Floats tiny(kBlock, 0.99f * kLeastKept);
    EXPECT_EQ(of(bits).encode(tiny.data(), codes.data()), 0);
    EXPECT_EQ(codes, Codes(kBlock * bits / 8));
    Floats least(kBlock);
    least[130] = -kLeastKept;
    EXPECT_EQ(of(bits).encode(least.data(), codes.data()), kLeastKept / (bits == 8 ? 127 : 7));
    EXPECT_EQ(CodeOf(codes, bits, 130), bits == 8 ? -127 : -7);
    for (const float bad : {kInfinity, -kInfinity, std::nanf("")}) {
      Floats x = Gaussian(1);
      x[255] = bad;
      codes.assign(codes.size(), 0x5a);
      const float scale = of(bits).encode(x.data(), codes.data());
      EXPECT_TRUE(std::isnan(scale));
      EXPECT_EQ(codes, Codes(kBlock * bits / 8));
      of(bits).decode(scale, codes.data(), x.data());
      for (const float value : x) ASSERT_TRUE(std::isnan(value));
      Floats sum = Gaussian(2);
      of(bits).add(scale, codes.data(), sum.data());
      for (const float value : sum) ASSERT_TRUE(std::isnan(value));
      // NaN remains, of either type, through the rotation.
      kernels().unrotate(x.data(), 256);
      Numbers g(DType::kBF16, kBlock);
      kernels().bf16.store(x.data(), g.data(), kBlock);
      for (int i = 0; i < kBlock; ++i) ASSERT_TRUE(std::isnan(x[i]) && std::isnan(g.Get(i)));
    }
  }
}

TEST_P(QuantizedKernelsTest, RotatesByTheHadamardMatrix) {
  for (const int64_t begin : {int64_t{0}, int64_t{32}, int64_t{256} * 1000003}) {
    const Floats x = Gaussian(9);
    Floats rotated = x;
    kernels().rotate(rotated.data(), begin);
    int minus = 0;
    for (int row = 0; row < kBlock; ++row) {
      double sum = 0;
      for (int i = 0; i < kBlock; ++i) {
        const bool sign = (RotationSigns(begin, i / 32) >> (i % 32) & 1) != 0;
        minus += row == 0 && sign;
        const bool odd = __builtin_popcount(row & i) % 2 != 0;
        sum += sign != odd ? -double{x[i]} : double{x[i]};
      }
      ASSERT_NEAR(rotated[row], sum / 16, 1e-6);
    }
    EXPECT_NEAR(minus, kBlock / 2, 40);
    kernels().unrotate(rotated.data(), begin);
    for (int i = 0; i < kBlock; ++i) ASSERT_NEAR(rotated[i], x[i], 2e-6);
  }
}

// Note [Rotation], element by element.
void ChangeSigns(int64_t begin, Floats* x) {
  for (int i = 0; i < kBlock; ++i) {
    if ((RotationSigns(begin, i / 32) >> (i % 32) & 1) != 0) (*x)[i] = -(*x)[i];
  }
}
void Butterflies(Floats* x) {
  for (int step = 1; step < kBlock; step *= 2) {
    for (int i = 0; i < kBlock; ++i) {
      if ((i & step) != 0) continue;
      const float low = (*x)[i], high = (*x)[i + step];
      (*x)[i] = low + high;
      (*x)[i + step] = low - high;
    }
  }
  for (float& value : *x) value /= 16;
}

TEST_P(QuantizedKernelsTest, RotationsHaveTheBitsOfTheirDefinition) {
  for (const int64_t begin : {int64_t{512}, int64_t{1} << 40}) {
    Floats expected = Gaussian(10), actual = expected;
    ChangeSigns(begin, &expected);
    Butterflies(&expected);
    kernels().rotate(actual.data(), begin);
    EXPECT_EQ(std::memcmp(expected.data(), actual.data(), kBlock * sizeof(float)), 0);
    Butterflies(&expected);
    ChangeSigns(begin, &expected);
    kernels().unrotate(actual.data(), begin);
    EXPECT_EQ(std::memcmp(expected.data(), actual.data(), kBlock * sizeof(float)), 0);
  }
}

TEST_P(QuantizedKernelsTest, MergesStoresAndKeeps) {
  class Random random(7, 4);
  for (const DType type : {DType::kFP32, DType::kBF16}) {
    for (const int n : {0, 1, 15, 100, 255, 256}) {
      Numbers g(type, n + 1), h(DType::kFP32, n + 1);
      g.FillGaussian(&random);
      h.FillGaussian(&random);
      const float behind = g.Get(n), kept_behind = h.Get(n);
      const auto& pool = type == DType::kFP32 ? kernels().fp32 : kernels().bf16;
      auto* const residual = static_cast<float*>(h.data());
      Floats x(kBlock, 5);
      pool.merge(g.data(), residual, x.data(), n);
      for (int i = 0; i < kBlock; ++i) ASSERT_EQ(x[i], i < n ? g.Get(i) + h.Get(i) : 0);
      pool.store(x.data(), g.data(), n);
      Floats rest = Gaussian(3);
      rest[0] = 0.5f * kLeastKept;
      rest[99] = -kLeastKept;
      const Floats before(residual, residual + n);
      for (const bool more : {true, false}) {
        kernels().keep(rest.data(), residual, n, more);
        for (int i = 0; i < n; ++i) {
          const float sum = more ? before[i] + rest[i] : rest[i];
          ASSERT_EQ(h.Get(i), std::abs(sum) < kLeastKept ? 0 : sum);
        }
      }
      for (int i = 0; i < n; ++i) ASSERT_EQ(g.Get(i), Rounded(type, x[i]));
      EXPECT_EQ(g.Get(n), behind);
      EXPECT_EQ(h.Get(n), kept_behind);
      Floats difference = x;
      kernels().subtract(rest.data(), difference.data());
      for (int i = 0; i < kBlock; ++i) ASSERT_EQ(difference[i], x[i] - rest[i]);
    }
  }
}

GF_ON_EVERY_ISA(QuantizedKernelsTest);

}  // namespace
}  // namespace gf
