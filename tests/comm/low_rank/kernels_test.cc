#include "comm/low_rank/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "tests/comm/wire/isa_test.h"
#include "tests/comm/wire/number_formats.h"

namespace gf {
namespace {

using Floats = std::vector<float>;

Floats Random(int64_t count, uint64_t seed) {
  class Random random(seed, 4);
  Floats values(count);
  for (float& value : values) value = random.Gaussian();
  return values;
}

class LowRankKernelsTest : public IsaTest {
 protected:
  const LowRankKernels& kernels() const {
    return Choose(LowRank_baseline, LowRank_avx2, LowRank_avx512);
  }
};

TEST_P(LowRankKernelsTest, ProductsAreThoseOfDouble) {
  for (const auto& [rows, columns, rank] : {std::tuple(int64_t{1}, int64_t{1}, 1),
                                            {5, 17, 2},
                                            {37, 1033, 4},
                                            {70, 515, 5},
                                            {9, 64, 9}}) {
    const Floats m = Random(rows * columns, 1), left = Random(rank * rows, 2),
                 right = Random(rank * columns, 3);
    Floats projected(rank * rows), correlated(rank * columns), expanded(m), rest(m);
    // In two parts, as threads have them.
    for (const auto& [begin, end] : {std::pair(int64_t{0}, rows / 2), {rows / 2, rows}}) {
      kernels().project(m.data(), rows, columns, right.data(), rank, projected.data(), begin, end);
      kernels().expand(expanded.data(), rows, columns, left.data(), right.data(), rank, begin, end);
      kernels().subtract(rest.data(), rows, columns, left.data(), right.data(), rank, begin, end);
    }
    Floats second(correlated);
    kernels().correlate(m.data(), rows, columns, left.data(), rank, correlated.data(), 0, rows / 3);
    kernels().correlate(m.data(), rows, columns, left.data(), rank, second.data(), rows / 3, rows);
    for (size_t i = 0; i < second.size(); ++i) correlated[i] += second[i];
    for (int k = 0; k < rank; ++k) {
      for (int64_t i = 0; i < rows; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < columns; ++j) {
          sum += double{m[i * columns + j]} * double{right[k * columns + j]};
        }
        ASSERT_NEAR(projected[k * rows + i], sum, 1e-6 * columns);
      }
      for (int64_t j = 0; j < columns; ++j) {
        double sum = 0;
        for (int64_t i = 0; i < rows; ++i) {
          sum += double{m[i * columns + j]} * double{left[k * rows + i]};
        }
        ASSERT_NEAR(correlated[k * columns + j], sum, 1e-6 * static_cast<double>(rows));
      }
    }
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        // Rounded after each product and each sum, in this order.
        volatile float sum = 0;
        for (int k = 0; k < rank; ++k) {
          volatile const float product = left[k * rows + i] * right[k * columns + j];
          sum = sum + product;
        }
        ASSERT_EQ(expanded[i * columns + j], sum);
        ASSERT_EQ(rest[i * columns + j], m[i * columns + j] - sum);
      }
    }
  }
}

TEST_P(LowRankKernelsTest, EveryInstructionSetHasTheSameBits) {
  constexpr int64_t kRows = 70, kColumns = 1033;
  constexpr int kRank = 3;
  const Floats m = Random(kRows * kColumns, 5), factor = Random(kRank * kColumns, 6);
  const auto results = [&](const LowRankKernels& k) {
    Floats left(kRank * kRows), right(kRank * kColumns);
    k.project(m.data(), kRows, kColumns, factor.data(), kRank, left.data(), 0, kRows);
    k.correlate(m.data(), kRows, kColumns, left.data(), kRank, right.data(), 0, kRows);
    left.insert(left.end(), right.begin(), right.end());
    return left;
  };
  const Floats expected = results(LowRank_baseline), actual = results(kernels());
  EXPECT_EQ(std::memcmp(expected.data(), actual.data(), expected.size() * sizeof(float)), 0);
}

TEST_P(LowRankKernelsTest, AddsAndMerges) {
  class Random random(7, 4);
  for (const DType type : {DType::kFP32, DType::kBF16}) {
    Numbers g(type, 1003), h(DType::kFP32, 1003);
    g.FillGaussian(&random);
    h.FillGaussian(&random);
    Numbers sum = h, merged = g, none = h;
    const bool fp32 = type == DType::kFP32;
    (fp32 ? kernels().add_fp32 : kernels().add_bf16)(g.data(), static_cast<float*>(sum.data()),
                                                     1003);
    (fp32 ? kernels().merge_fp32 : kernels().merge_bf16)(merged.data(),
                                                         static_cast<float*>(none.data()), 1003);
    for (int i = 0; i < 1003; ++i) {
      ASSERT_EQ(sum.Get(i), g.Get(i) + h.Get(i));
      ASSERT_EQ(merged.Get(i), Rounded(type, g.Get(i) + h.Get(i)));
      ASSERT_EQ(none.Get(i), 0);
    }
  }
}

GF_ON_EVERY_ISA(LowRankKernelsTest);

}  // namespace
}  // namespace gf
