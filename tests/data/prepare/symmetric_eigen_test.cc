#include "data/prepare/symmetric_eigen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace gf {
namespace {

// Checks the definition: unit vectors at right angles, and matrix v = value v.
void ExpectDecomposed(const std::vector<double>& matrix, int n) {
  const SymmetricEigen eigen = DecomposeSymmetric(matrix, n);
  ASSERT_EQ(eigen.values.size(), static_cast<size_t>(n));
  ASSERT_EQ(eigen.vectors.size(), matrix.size());
  double size = 0;
  for (const double value : matrix) size = std::max(size, std::abs(value));
  const double tolerance = 1e-13 * n * std::max(size, 1.);
  for (int k = 0; k < n; ++k) {
    const double* const v = &eigen.vectors[k * n];
    if (k > 0) {
      EXPECT_GE(eigen.values[k - 1], eigen.values[k]);
    }
    for (int i = 0; i < n; ++i) {
      double product = 0;
      for (int j = 0; j < n; ++j) product += matrix[i * n + j] * v[j];
      ASSERT_NEAR(product, eigen.values[k] * v[i], tolerance) << k << " " << i;
    }
    for (int other = 0; other <= k; ++other) {
      double product = 0;
      for (int i = 0; i < n; ++i) product += v[i] * eigen.vectors[other * n + i];
      ASSERT_NEAR(product, other == k ? 1 : 0, 1e-12) << k << " " << other;
    }
    double largest = 0;
    for (int i = 0; i < n; ++i) {
      if (std::abs(v[i]) > std::abs(largest)) largest = v[i];
    }
    EXPECT_GT(largest, 0);
  }
}

TEST(SymmetricEigenTest, KnownDecompositions) {
  const SymmetricEigen two = DecomposeSymmetric({2, 1, 1, 2}, 2);
  EXPECT_NEAR(two.values[0], 3, 1e-15);
  EXPECT_NEAR(two.values[1], 1, 1e-15);
  const double half = std::sqrt(0.5);
  EXPECT_NEAR(two.vectors[0], half, 1e-15);
  EXPECT_NEAR(two.vectors[1], half, 1e-15);
  EXPECT_NEAR(std::abs(two.vectors[2]), half, 1e-15);
  EXPECT_NEAR(two.vectors[2] + two.vectors[3], 0, 1e-15);
  EXPECT_EQ(DecomposeSymmetric({-5}, 1).values, std::vector<double>{-5});
  EXPECT_EQ(DecomposeSymmetric({1, 0, 0, 0, 3, 0, 0, 0, 2}, 3).values,
            (std::vector<double>{3, 2, 1}));
}

TEST(SymmetricEigenTest, RandomMatricesOfFullAndOfLowRank) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (const int n : {2, 3, 7, 27, 60}) {
    for (const int rank : {1, 3, n, 2 * n}) {
      std::vector<double> factors(n * rank), matrix(n * n);
      for (double& value : factors) value = normal(random);
      for (int i = 0; i < n * n; ++i) {
        for (int r = 0; r < rank; ++r) {
          matrix[i] += factors[i / n * rank + r] * factors[i % n * rank + r];
        }
      }
      ASSERT_NO_FATAL_FAILURE(ExpectDecomposed(matrix, n)) << n << " " << rank;
    }
  }
  ASSERT_NO_FATAL_FAILURE(ExpectDecomposed(std::vector<double>(16), 4));
  ASSERT_NO_FATAL_FAILURE(ExpectDecomposed(std::vector<double>(16, 1e-200), 4));
}

}  // namespace
}  // namespace gf
