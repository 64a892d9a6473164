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

QuantizedBlock BlockOf(int64_t begin, int count, bool full) {
  QuantizedBlock block;
  block.begin = begin;
  block.count = count;
  block.full = full ? 1 : 0;
  return block;
}

class QuantizedKernelsTest : public IsaTest {
 protected:
  const QuantizedKernels& kernels() const {
    return Choose(Quantized_baseline, Quantized_avx2, Quantized_avx512);
  }
  const QuantizedSumFunctions& sums(int bits) const {
    return bits == 8 ? kernels().sum8 : kernels().sum4;
  }
  const QuantizedBlockFunctions& blocks(DType type, int bits) const {
    const QuantizedKernels::OfType& of = type == DType::kFP32 ? kernels().fp32 : kernels().bf16;
    return bits == 8 ? of.bits8 : of.bits4;
  }
  // Of whole blocks that are not rotated.
  float Encode(const Floats& x, int bits, uint8_t* codes) const {
    Floats residual(kBlock);
    return blocks(DType::kFP32, bits)
        .encode(BlockOf(0, kBlock, false), false, x.data(), residual.data(), codes);
  }
};

// A block in the vectors of some ranks.
struct Vectors {
  Vectors(int bits, int ranks)
      : bits(bits), words(1 + kBlock * bits / 32), memory(ranks * words), ranks(ranks) {}

  float* scale(int rank) { return &memory[rank * words]; }
  uint8_t* codes(int rank) { return reinterpret_cast<uint8_t*>(scale(rank) + 1); }
  QuantizedTerms terms() { return {scale(0), codes(0), words, ranks}; }

  int bits;
  int64_t words;
  Floats memory;
  int ranks;
};

// scale * codes
Floats Decoded(const Codes& codes, int bits, float scale) {
  Floats y(kBlock);
  for (int i = 0; i < kBlock; ++i) y[i] = scale * static_cast<float>(CodeOf(codes, bits, i));
  return y;
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
Floats Rotated(Floats x, int64_t begin) {
  ChangeSigns(begin, &x);
  Butterflies(&x);
  return x;
}
Floats RotatedBack(Floats x, int64_t begin) {
  Butterflies(&x);
  ChangeSigns(begin, &x);
  return x;
}

float Kept(float rest) { return std::abs(rest) < kLeastKept ? 0 : rest; }

TEST_P(QuantizedKernelsTest, CodesAreTheNearestMultiplesOfTheScale) {
  for (const int bits : {8, 4}) {
    const float levels = bits == 8 ? 127 : 7;
    for (const float size : {1.f, 1e-25f, 1e30f}) {
      Floats x = Gaussian(bits, size);
      x[3] = x[200] = 0;
      x[77] = -4.5f * size;
      Codes codes(kBlock * bits / 8);
      const float scale = Encode(x, bits, codes.data());
      float largest = 0;
      for (const float value : x) largest = std::max(largest, std::abs(value));
      EXPECT_EQ(scale, largest / levels);
      const float inverse = levels / largest;
      for (int i = 0; i < kBlock; ++i) {
        const int code = static_cast<int>(std::nearbyint(x[i] * inverse));
        ASSERT_EQ(CodeOf(codes, bits, i), code) << bits << " bits, " << i;
      }
    }
  }
}

// Wherever it lies, the largest magnitude gives the scale.
TEST_P(QuantizedKernelsTest, EveryPlaceCanHaveTheLargestValue) {
  for (int i = 0; i < kBlock; ++i) {
    Floats x(kBlock, 1);
    x[i] = i % 2 == 0 ? 7 : -7;
    Codes codes(kBlock / 2);
    ASSERT_EQ(Encode(x, 4, codes.data()), 1) << i;
    ASSERT_EQ(CodeOf(codes, 4, i), x[i]);
  }
}

TEST_P(QuantizedKernelsTest, HalvesAreRoundedToEven) {
  Floats x(kBlock);
  for (int i = 0; i < 7; ++i) x[i] = static_cast<float>(i) + 0.5f;
  for (int i = 0; i < 7; ++i) x[128 + i] = -x[i];
  for (const int bits : {8, 4}) {
    x[100] = bits == 8 ? 127 : 7;
    Codes codes(kBlock * bits / 8);
    EXPECT_EQ(Encode(x, bits, codes.data()), 1);
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
    EXPECT_EQ(Encode(Floats(kBlock, 0.99f * kLeastKept), bits, codes.data()), 0);
    EXPECT_EQ(codes, Codes(kBlock * bits / 8));
    Floats least(kBlock);
    least[130] = -kLeastKept;
    EXPECT_EQ(Encode(least, bits, codes.data()), kLeastKept / (bits == 8 ? 127 : 7));
    EXPECT_EQ(CodeOf(codes, bits, 130), bits == 8 ? -127 : -7);
    for (const float bad : {kInfinity, -kInfinity, std::nanf("")}) {
      Floats x = Gaussian(1);
      x[255] = bad;
      codes.assign(codes.size(), 0x5a);
      const float scale = Encode(x, bits, codes.data());
      EXPECT_TRUE(std::isnan(scale));
      EXPECT_EQ(codes, Codes(kBlock * bits / 8));
      // NaN remains, of either type, through the rotation, and of one rank in the sum.
      for (const DType type : {DType::kFP32, DType::kBF16}) {
        Numbers g(type, kBlock);
        blocks(type, bits).decode(BlockOf(256, kBlock, true), true, scale, codes.data(), g.data());
        for (int i = 0; i < kBlock; ++i) ASSERT_TRUE(std::isnan(g.Get(i)));
      }
      Vectors vectors(bits, 3);
      *vectors.scale(1) = scale;
      EXPECT_TRUE(std::isnan(sums(bits).encode(vectors.terms(), codes.data())));
      EXPECT_EQ(codes, Codes(kBlock * bits / 8));
    }
  }
}

TEST_P(QuantizedKernelsTest, ResidualsThatAreNotFiniteAreDropped) {
  for (const bool rotate : {false, true}) {
    Floats g = Gaussian(1), h = Gaussian(2);
    h[5] = kInfinity;
    h[250] = std::nanf("");
    Floats expected = h;
    expected[5] = expected[250] = 0;
    Codes codes(kBlock, 0x5a);
    const float scale = kernels().fp32.bits8.encode(BlockOf(0, kBlock, true), rotate, g.data(),
                                                    h.data(), codes.data());
    EXPECT_TRUE(std::isnan(scale));
    EXPECT_EQ(codes, Codes(kBlock));
    EXPECT_EQ(h, expected);
  }
}

TEST_P(QuantizedKernelsTest, TheReferenceRotatesByTheHadamardMatrix) {
  for (const int64_t begin : {int64_t{0}, int64_t{32}, int64_t{256} * 1000003}) {
    const Floats x = Gaussian(9);
    const Floats rotated = Rotated(x, begin);
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
    const Floats back = RotatedBack(rotated, begin);
    for (int i = 0; i < kBlock; ++i) ASSERT_NEAR(back[i], x[i], 2e-6);
  }
}

// Note [Quantized], element by element, of a block with `count` elements.
struct Expected {
  Codes codes;
  float scale;
  Floats rest;  // h
};
Expected EncodeReference(const Floats& x, int64_t begin, bool rotated, int bits) {
  const Floats turned = rotated ? Rotated(x, begin) : x;
  const float levels = bits == 8 ? 127 : 7;
  float largest = 0;
  for (const float value : turned) largest = std::max(largest, std::abs(value));
  Expected expected{Codes(kBlock * bits / 8), largest / levels, turned};
  for (int i = 0; i < kBlock; ++i) {
    const int code = static_cast<int>(std::nearbyint(turned[i] * (levels / largest)));
    if (bits == 8) {
      expected.codes[i] = static_cast<uint8_t>(code);
    } else {
      expected.codes[i % 128] |= static_cast<uint8_t>((code & 15) << (i < 128 ? 0 : 4));
    }
    expected.rest[i] -= static_cast<float>(code) * expected.scale;
  }
  if (rotated) expected.rest = RotatedBack(expected.rest, begin);
  return expected;
}

// A block, its neighbors, and whether it is rotated.
struct Case {
  DType type;
  int bits, count;
  bool full, rotate;
  bool rotated() const { return full && rotate; }
  QuantizedBlock block() const { return BlockOf(int64_t{256} * 77, count, full); }
};
std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const DType type : {DType::kFP32, DType::kBF16}) {
    for (const int bits : {8, 4}) {
      for (const bool rotate : {false, true}) {
        for (const int count : {1, 15, 100, 255})
          cases.push_back({type, bits, count, false, rotate});
        for (const bool full : {false, true}) cases.push_back({type, bits, kBlock, full, rotate});
      }
    }
  }
  return cases;
}

TEST_P(QuantizedKernelsTest, EncodesTheSumAndKeepsTheRest) {
  class Random random(7, 4);
  for (const Case& c : Cases()) {
    Numbers g(c.type, c.count + 1), h(DType::kFP32, c.count + 1);
    g.FillGaussian(&random);
    h.FillGaussian(&random);
    Floats x(kBlock);
    for (int i = 0; i < c.count; ++i) x[i] = g.Get(i) + h.Get(i);
    const float behind = h.Get(c.count);
    const Expected expected = EncodeReference(x, c.block().begin, c.rotated(), c.bits);
    Codes codes(kBlock * c.bits / 8);
    const float scale =
        blocks(c.type, c.bits)
            .encode(c.block(), c.rotate, g.data(), static_cast<float*>(h.data()), codes.data());
    ASSERT_EQ(scale, expected.scale);
    ASSERT_EQ(codes, expected.codes);
    for (int i = 0; i < c.count; ++i) ASSERT_EQ(h.Get(i), Kept(expected.rest[i])) << c.count;
    EXPECT_EQ(h.Get(c.count), behind);
  }
}

TEST_P(QuantizedKernelsTest, EncodesASumAndKeepsWhatItLoses) {
  class Random random(8, 4);
  for (const Case& c : Cases()) {
    if (c.type != DType::kFP32) continue;
    for (const int ranks : {1, 2, 7}) {
      Vectors vectors(c.bits, ranks);
      Floats sum(kBlock);
      for (int rank = 0; rank < ranks; ++rank) {
        Floats x(kBlock);
        for (int i = 0; i < c.count; ++i) x[i] = random.Gaussian();
        *vectors.scale(rank) = Encode(x, c.bits, vectors.codes(rank));
        const Codes codes(vectors.codes(rank), vectors.codes(rank) + kBlock * c.bits / 8);
        const Floats y = Decoded(codes, c.bits, *vectors.scale(rank));
        for (int i = 0; i < kBlock; ++i) sum[i] += y[i];
      }
      Expected expected = EncodeReference(sum, c.block().begin, false, c.bits);
      Codes codes(kBlock * c.bits / 8);
      const float scale = sums(c.bits).encode(vectors.terms(), codes.data());
      ASSERT_EQ(scale, expected.scale);
      ASSERT_EQ(codes, expected.codes);

      Numbers h(DType::kFP32, c.count + 1);
      h.FillGaussian(&random);
      h.Set(0, 0.5f * kLeastKept);
      auto* const residual = static_cast<float*>(h.data());
      const Floats before(residual, residual + c.count + 1);
      if (c.rotated()) expected.rest = RotatedBack(expected.rest, c.block().begin);
      sums(c.bits).keep(c.block(), c.rotate, vectors.terms(), scale, codes.data(), residual);
      for (int i = 0; i < c.count; ++i) ASSERT_EQ(h.Get(i), Kept(before[i] + expected.rest[i]));
      EXPECT_EQ(h.Get(c.count), before[c.count]);
    }
  }
}

TEST_P(QuantizedKernelsTest, DecodesIntoGradientsOfEitherType) {
  class Random random(9, 4);
  for (const Case& c : Cases()) {
    Numbers g(c.type, c.count + 1);
    g.FillGaussian(&random);
    const float behind = g.Get(c.count);
    Codes codes(kBlock * c.bits / 8);
    const float scale = Encode(Gaussian(3), c.bits, codes.data());
    Floats y = Decoded(codes, c.bits, scale);
    if (c.rotated()) y = RotatedBack(y, c.block().begin);
    blocks(c.type, c.bits).decode(c.block(), c.rotate, scale, codes.data(), g.data());
    for (int i = 0; i < c.count; ++i) ASSERT_EQ(g.Get(i), Rounded(c.type, y[i]));
    EXPECT_EQ(g.Get(c.count), behind);
  }
}

GF_ON_EVERY_ISA(QuantizedKernelsTest);

}  // namespace
}  // namespace gf
