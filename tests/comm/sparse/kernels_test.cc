#include "comm/sparse/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "comm/wire/wire.h"
#include "tests/comm/wire/isa_test.h"
#include "tests/comm/wire/number_formats.h"

namespace gf {
namespace {

struct Pair {
  DType gradient, packed;
  SparseFunctions SparseKernels::*functions;
};

const Pair kPairs[] = {
    {DType::kFP32, DType::kFP32, &SparseKernels::fp32_fp32},
    {DType::kFP32, DType::kBF16, &SparseKernels::fp32_bf16},
    {DType::kFP32, DType::kFP16, &SparseKernels::fp32_fp16},
    {DType::kBF16, DType::kFP32, &SparseKernels::bf16_fp32},
    {DType::kBF16, DType::kBF16, &SparseKernels::bf16_bf16},
    {DType::kBF16, DType::kFP16, &SparseKernels::bf16_fp16},
};

// Lengths around the widths of vectors, of partial sums and of their blocks, and a chunk's.
const int64_t kCounts[] = {0,  1,  3,  4,  5,  15,  16,   17,   31,   32,   33,   47,
                           48, 63, 64, 65, 95, 127, 1000, 4095, 4096, 4097, 32000};

// A gradient and a residual, not aligned to vectors, for every pair and length.
class SparseKernelsTest : public IsaTest {
 protected:
  struct Case {
    Pair pair;
    const SparseFunctions& functions;
    int64_t count;
    Numbers g, h;
    float* residual() { return static_cast<float*>(h.data()); }
  };

  template <class Check>
  void ForEachCase(Check check) {
    Random random(1, 1);
    const SparseKernels& kernels = Choose(Sparse_baseline, Sparse_avx2, Sparse_avx512);
    for (const Pair& pair : kPairs) {
      for (const int64_t count : kCounts) {
        Case c = {pair, kernels.*pair.functions, count,
                  Numbers(pair.gradient, count, SizeOf(pair.gradient) * (count % 3)),
                  Numbers(DType::kFP32, count, 4 * (count % 5))};
        c.g.FillGaussian(&random);
        c.h.FillGaussian(&random, 3);
        SCOPED_TRACE(testing::Message()
                     << Name(pair.gradient) << " " << Name(pair.packed) << " " << count);
        check(c);
        EXPECT_TRUE(c.g.GuardIntact() && c.h.GuardIntact());
        if (testing::Test::HasFailure()) return;
      }
    }
  }
};

TEST_P(SparseKernelsTest, KeepMultipliesTheSumAndLeavesTheGradient) {
  for (const float momentum : {1.f, 0.9f, 0.f}) {
    ForEachCase([&](Case& c) {
      const Numbers g = c.g, h = c.h;
      double norm = 0;
      const double returned = c.functions.keep(c.g.data(), c.residual(), c.count, momentum);
      EXPECT_EQ(c.g, g);
      for (int64_t i = 0; i < c.count; ++i) {
        const float sum = g.Get(i) + h.Get(i);
        EXPECT_EQ(c.h.Get(i), momentum * sum) << i;
        norm += std::fabs(static_cast<double>(sum));
      }
      EXPECT_NEAR(returned, norm, 2e-6 * norm);
    });
  }
}

TEST_P(SparseKernelsTest, PackRoundsTheSumOnceAndEmptiesTheResidual) {
  ForEachCase([](Case& c) {
    const Numbers g = c.g, h = c.h;
    Numbers packed(c.pair.packed, c.count, SizeOf(c.pair.packed));
    c.functions.pack(c.g.data(), c.residual(), packed.data(), c.count);
    EXPECT_EQ(c.g, g);
    EXPECT_EQ(c.h, Numbers(DType::kFP32, c.count, 4 * (c.count % 5)));
    EXPECT_TRUE(packed.GuardIntact());
    for (int64_t i = 0; i < c.count; ++i) {
      EXPECT_EQ(packed.Get(i), Rounded(c.pair.packed, g.Get(i) + h.Get(i))) << i;
    }
  });
}

TEST_P(SparseKernelsTest, MergeIsPackInPlace) {
  ForEachCase([](Case& c) {
    const Numbers g = c.g, h = c.h;
    c.functions.merge(c.g.data(), c.residual(), c.count);
    EXPECT_EQ(c.h, Numbers(DType::kFP32, c.count, 4 * (c.count % 5)));
    for (int64_t i = 0; i < c.count; ++i) {
      EXPECT_EQ(c.g.Get(i), Rounded(c.pair.gradient, g.Get(i) + h.Get(i))) << i;
    }
  });
}

TEST_P(SparseKernelsTest, WithoutResidualEveryGradientPassesUnchanged) {
  const float inf = std::numeric_limits<float>::infinity();
  ForEachCase([&](Case& c) {
    const float special[] = {0.f, -0.f, inf, -inf, 0x1p-126f, -0x1p-130f};
    for (int64_t i = 0; i < c.count; i += 2) c.g.Set(i, special[i / 2 % 6]);
    // What pack itself leaves behind, and a residual that momentum turned negative.
    for (int64_t i = 0; i < c.count; ++i) c.h.Set(i, i % 3 == 0 ? -0.f : 0.f);
    const Numbers g = c.g;
    Numbers packed(c.pair.packed, c.count);
    c.functions.pack(c.g.data(), c.residual(), packed.data(), c.count);
    for (int64_t i = 0; i < c.count; ++i) {
      EXPECT_TRUE(SameNumber(packed.Get(i), Rounded(c.pair.packed, g.Get(i)))) << g.Get(i);
    }
    c.functions.merge(c.g.data(), c.residual(), c.count);
    EXPECT_EQ(c.g, g);
  });
}

TEST_P(SparseKernelsTest, UnpackStoresTheSumAndReturnsItsNorm) {
  ForEachCase([](Case& c) {
    Numbers packed(c.pair.packed, c.count, SizeOf(c.pair.packed));
    Random random(2, c.count);
    packed.FillGaussian(&random);
    double norm = 0;
    const double returned = c.functions.unpack(packed.data(), c.g.data(), c.count);
    for (int64_t i = 0; i < c.count; ++i) {
      EXPECT_EQ(c.g.Get(i), Rounded(c.pair.gradient, packed.Get(i))) << i;
      norm += std::fabs(static_cast<double>(packed.Get(i)));
    }
    EXPECT_NEAR(returned, norm, 2e-6 * norm);
  });
}

TEST_P(SparseKernelsTest, NormIsTheSumOfMagnitudes) {
  ForEachCase([](Case& c) {
    double norm = 0;
    for (int64_t i = 0; i < c.count; ++i) norm += std::fabs(static_cast<double>(c.g.Get(i)));
    EXPECT_NEAR(c.functions.norm(c.g.data(), c.count), norm, 2e-6 * norm);
  });
}

TEST_P(SparseKernelsTest, NormsHaveTheSameBitsOnEveryInstructionSet) {
  const auto same = [](double a, double b) { return std::memcmp(&a, &b, sizeof(a)) == 0; };
  ForEachCase([&](Case& c) {
    const SparseFunctions& other = Sparse_baseline.*c.pair.functions;
    Numbers h = c.h, packed(c.pair.packed, c.count);
    EXPECT_TRUE(same(c.functions.norm(c.g.data(), c.count), other.norm(c.g.data(), c.count)));
    EXPECT_TRUE(same(c.functions.keep(c.g.data(), c.residual(), c.count, 0.9f),
                     other.keep(c.g.data(), static_cast<float*>(h.data()), c.count, 0.9f)));
    EXPECT_EQ(c.h, h);
    c.functions.pack(c.g.data(), c.residual(), packed.data(), c.count);
    EXPECT_TRUE(same(c.functions.unpack(packed.data(), c.g.data(), c.count),
                     other.unpack(packed.data(), c.g.data(), c.count)));
  });
}

TEST_P(SparseKernelsTest, WhatIsNotFiniteShowsInTheNorm) {
  for (const float bad : {std::numeric_limits<float>::infinity(), -NAN, NAN}) {
    ForEachCase([&](Case& c) {
      if (c.count == 0) return;
      c.g.Set(c.count - 1, bad);
      Numbers packed(c.pair.packed, c.count), zero(DType::kFP32, c.count);
      EXPECT_FALSE(std::isfinite(c.functions.norm(c.g.data(), c.count)));
      c.functions.pack(c.g.data(), static_cast<float*>(zero.data()), packed.data(), c.count);
      EXPECT_FALSE(std::isfinite(c.functions.unpack(packed.data(), c.g.data(), c.count)));
      EXPECT_FALSE(std::isfinite(c.functions.keep(c.g.data(), c.residual(), c.count, 1)));
    });
  }
}

GF_ON_EVERY_ISA(SparseKernelsTest);

TEST(ForTypesTest, FindsTheFunctionsOfEveryPair) {
  for (const Pair& pair : kPairs) {
    EXPECT_EQ(&ForTypes(Sparse(), pair.gradient, pair.packed), &(Sparse().*pair.functions));
  }
}

}  // namespace
}  // namespace gf
