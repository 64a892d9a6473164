#include "comm/low_rank/kernels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <tuple>
#include <utility>
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
    const LowRankFactors factors = {left.data(), rows, right.data(), columns, rank};
    Floats of_rows(rank * rows), of_columns = Random(rank * columns, 4), expanded(m), rest(m);
    const Floats before = of_columns;
    // In two parts, as threads have them.
    for (const auto& [begin, end] : {std::pair(int64_t{0}, rows / 2), {rows / 2, rows}}) {
      const int64_t at = begin * columns;
      LowRankFactors part = factors;
      part.rows += begin;
      kernels().times_columns(m.data() + at, end - begin, columns, part, of_rows.data() + begin,
                              rows);
      kernels().add_times_rows(m.data() + at, end - begin, columns, part, of_columns.data(),
                               columns);
      kernels().expand(expanded.data() + at, end - begin, columns, part);
      kernels().subtract(rest.data() + at, end - begin, columns, part);
    }
    for (int k = 0; k < rank; ++k) {
      for (int64_t i = 0; i < rows; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < columns; ++j) {
          sum += double{m[i * columns + j]} * double{right[k * columns + j]};
        }
        ASSERT_NEAR(of_rows[k * rows + i], sum, 1e-6 * columns);
      }
      for (int64_t j = 0; j < columns; ++j) {
        double sum = before[k * columns + j];
        for (int64_t i = 0; i < rows; ++i) {
          sum += double{m[i * columns + j]} * double{left[k * rows + i]};
        }
        ASSERT_NEAR(of_columns[k * columns + j], sum, 1e-6 * static_cast<double>(rows + 1));
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

TEST_P(LowRankKernelsTest, SumsInLanesGoOn) {
  constexpr int64_t kRows = 37, kColumns = 48;
  constexpr int kRank = 5;
  const Floats m = Random(kRows * kColumns, 1), right = Random(kRank * kColumns, 3);
  Floats lanes = Random(kRank * kRows * kLowRankLanes, 5);
  const Floats before = lanes;
  kernels().add_times_columns(m.data(), kRows, kColumns,
                              {nullptr, 0, right.data(), kColumns, kRank}, lanes.data());
  for (int64_t at = 0; at < kRank * kRows; ++at) {
    const int64_t k = at / kRows, i = at % kRows;
    for (int64_t l = 0; l < kLowRankLanes; ++l) {
      double sum = before[at * kLowRankLanes + l];
      for (int64_t j = l; j < kColumns; j += kLowRankLanes) {
        sum += double{m[i * kColumns + j]} * double{right[k * kColumns + j]};
      }
      ASSERT_NEAR(lanes[at * kLowRankLanes + l], sum, 1e-5);
    }
  }
}

TEST_P(LowRankKernelsTest, EveryInstructionSetHasTheSameBits) {
  constexpr int64_t kRows = 70, kColumns = 1033, kWholeVectors = 1024;
  constexpr int kRank = 6;
  const Floats m = Random(kRows * kColumns, 5), rows = Random(kRank * kRows, 6),
               columns = Random(kRank * kColumns, 7);
  const LowRankFactors factors = {rows.data(), kRows, columns.data(), kColumns, kRank};
  const auto results = [&](const LowRankKernels& k) {
    Floats of_rows(kRank * kRows), of_columns(kRank * kColumns);
    Floats lanes(kRank * kRows * kLowRankLanes);
    k.times_columns(m.data(), kRows, kColumns, factors, of_rows.data(), kRows);
    k.add_times_rows(m.data(), kRows, kColumns, factors, of_columns.data(), kColumns);
    k.add_times_columns(m.data(), kRows, kWholeVectors, factors, lanes.data());
    Floats all = of_rows;
    all.insert(all.end(), of_columns.begin(), of_columns.end());
    all.insert(all.end(), lanes.begin(), lanes.end());
    return all;
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
