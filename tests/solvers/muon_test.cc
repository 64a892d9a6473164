// Muon's matrices: their singular values, their shapes and orders in memory. The references of
// whole updates are in solver_reference_test.cc and solver_golden_test.py.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/cpu/dnnl.h"
#include "core/random.h"
#include "solvers/orthogonal.h"
#include "solvers/solver.h"
#include "tests/solvers/store_for_test.h"

namespace gf {
namespace {

// A random matrix, row by row, with the norm 1.
std::vector<float> RandomMatrix(const MatrixSize& size, uint64_t seed) {
  Random random(seed, 1);
  std::vector<float> values(size.rows * size.columns);
  double squares = 0;
  for (float& value : values) {
    value = random.Gaussian();
    squares += double{value} * value;
  }
  for (float& value : values) value /= static_cast<float>(std::sqrt(squares));
  return values;
}

std::vector<float> Transposed(const std::vector<float>& x, const MatrixSize& size) {
  std::vector<float> result(x.size());
  for (int64_t r = 0; r < size.rows; ++r) {
    for (int64_t c = 0; c < size.columns; ++c) result[c * size.rows + r] = x[r * size.columns + c];
  }
  return result;
}

// The squares of the smallest and the largest singular value, at least and at most: by Gershgorin's
// circles around the diagonal of the Gram matrix of the shorter side.
std::pair<double, double> Bounds(const std::vector<float>& x, const MatrixSize& size) {
  const bool wide = size.rows <= size.columns;
  const std::vector<float> rows = wide ? x : Transposed(x, size);
  const int64_t s = size.shorter(), l = size.longer();
  double least = INFINITY, most = 0;
  for (int64_t i = 0; i < s; ++i) {
    double diagonal = 0, others = 0;
    for (int64_t j = 0; j < s; ++j) {
      double dot = 0;
      for (int64_t e = 0; e < l; ++e) dot += double{rows[i * l + e]} * rows[j * l + e];
      (i == j ? diagonal : others) += std::abs(dot);
    }
    least = std::min(least, diagonal - others);
    most = std::max(most, diagonal + others);
  }
  return {least, most};
}

TEST(OrthogonalizerTest, MovesSingularValuesCloseToOne) {
  // Long rows of random numbers are nearly orthogonal already, so the circles are small.
  for (const MatrixSize& size : {MatrixSize{4, 3000}, MatrixSize{3000, 4}, MatrixSize{1, 77},
                                 MatrixSize{77, 1}, MatrixSize{3, 3000}}) {
    std::vector<float> x = RandomMatrix(size, 7);
    Orthogonalizer orthogonalizer;
    orthogonalizer.Run(size, 5, x.data());
    const auto [least, most] = Bounds(x, size);
    EXPECT_GT(least, 0.6 * 0.6) << size.rows << " x " << size.columns;
    EXPECT_LT(most, 1.25 * 1.25) << size.rows << " x " << size.columns;
  }
}

TEST(OrthogonalizerTest, TransposedMatricesGiveTransposedResults) {
  Orthogonalizer orthogonalizer;  // one for all sizes, up and down
  for (const MatrixSize& size :
       {MatrixSize{5, 9}, MatrixSize{64, 300}, MatrixSize{16, 16}, MatrixSize{1, 3}}) {
    for (const int iterations : {1, 2, 5}) {
      std::vector<float> wide = RandomMatrix(size, 3);
      std::vector<float> high = Transposed(wide, size);
      orthogonalizer.Run(size, iterations, wide.data());
      orthogonalizer.Run({size.columns, size.rows}, iterations, high.data());
      const std::vector<float> expected = Transposed(wide, size);
      for (size_t i = 0; i < high.size(); ++i) ASSERT_NEAR(high[i], expected[i], 2e-5) << i;
    }
  }
}

TEST(OrthogonalizerTest, ZerosStayZeros) {
  std::vector<float> x(6 * 4);
  Orthogonalizer().Run({6, 4}, 5, x.data());
  EXPECT_EQ(x, std::vector<float>(6 * 4));
}

// Weights of the layouts after three updates.
std::vector<float> Trained(const std::vector<Layout>& layouts) {
  const std::vector<Shape> shapes = {Shape({20, 19, 3, 3}), Shape({70, 33})};
  PoolLayout pool;
  for (size_t i = 0; i < shapes.size(); ++i) {
    PoolEntry entry = TestEntry("layer" + std::to_string(i) + ".weight", shapes[i]);
    entry.layout = layouts[i];
    pool.Add(entry);
  }
  ParameterStore store(TestDevice(), pool, {}, DType::kFP32, true);
  SolverConfig config;
  config.set_weight_decay(0.1f);
  const auto solver = NewSolver("solver", "Muon", config, &store);
  Random random(4, 5);
  UpdateScalars scalars;
  scalars.lr = 0.05;
  for (int step = 0; step < 3; ++step) {
    for (const PoolEntry& entry : store.layout().entries()) {
      std::vector<float> values(entry.shape.count());
      for (float& value : values) value = random.Gaussian();
      store.Import(values, entry, store.gradient());
    }
    solver->BeginStep(scalars);
    solver->Update({{0, store.layout().count()}});
    ++scalars.update;
  }
  return Values(store, store.master(), store.layout());
}

TEST(MuonTest, TheOrderOfWeightsInMemoryMakesNoDifference) {
  const auto blocked = [](const dnnl::memory::dims& dims, dnnl::memory::format_tag tag) {
    const Layout layout = FromDnnl({dims, dnnl::memory::data_type::f32, tag});
    EXPECT_FALSE(layout.plain());
    return layout;
  };
  const std::vector<float> plain = Trained({Layout(), Layout()});
  // Sizes that the blocks do not divide, so there is padding.
  const std::vector<float> others =
      Trained({blocked({20, 19, 3, 3}, dnnl::memory::format_tag::OIhw16i16o),
               blocked({70, 33}, dnnl::memory::format_tag::ba)});
  ASSERT_EQ(plain.size(), others.size());
  for (size_t i = 0; i < plain.size(); ++i) ASSERT_NEAR(plain[i], others[i], 1e-6) << i;
}

TEST(MuonTest, MatchesTheSizeOfAdamWsSteps) {
  for (const MatrixSize& size : {MatrixSize{64, 576}, MatrixSize{576, 64}, MatrixSize{64, 64}}) {
    PoolLayout pool;
    pool.Add(TestEntry("conv.weight", Shape({size.rows, size.columns})));
    double root[2] = {};
    for (const char* type : {"Muon", "AdamW"}) {
      ParameterStore store(TestDevice(), pool, {}, DType::kFP32, true);
      SolverConfig config;
      const auto solver = NewSolver("solver", type, config, &store);
      Random random(8, 5);
      UpdateScalars scalars;
      scalars.lr = 1;
      double squares = 0;
      // In steady state: the mean square of the steps 50 to 59.
      for (int step = 0; step < 60; ++step) {
        float* const gradient = store.gradient().as<float>();
        for (int64_t i = 0; i < pool.count(); ++i) gradient[i] = random.Gaussian();
        const std::vector<float> before = Values(store, store.master(), pool);
        solver->BeginStep(scalars);
        solver->Update({{0, pool.count()}});
        ++scalars.update;
        const std::vector<float> after = Values(store, store.master(), pool);
        for (size_t i = 0; step >= 50 && i < after.size(); ++i) {
          squares += std::pow(double{after[i]} - before[i], 2);
        }
      }
      root[type[0] == 'A'] = std::sqrt(squares / (10. * size.rows * size.columns));
    }
    // Liu et al. measure 0.2 to 0.4 for AdamW.
    EXPECT_NEAR(root[0], 0.2, 0.05) << size.rows << " x " << size.columns;
    EXPECT_GT(root[1], 0.1);
    EXPECT_LT(root[1], 0.4);
  }
}

TEST(MuonTest, RunsAgainGiveTheSameBits) {
  EXPECT_EQ(Trained({Layout(), Layout()}), Trained({Layout(), Layout()}));
}

}  // namespace
}  // namespace gf
