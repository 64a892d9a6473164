#pragma once

// The matrices of Winograd's algorithm, compiled by simd_library.

#include "layers/cpu/winograd_kernels.h"

namespace gf {

// Note [Winograd's algorithm]
// m results of a filter with r taps (y[k] = sum of g[j] d[k + j]) need a = m + r - 1 products
// instead of m * r: y = A^T ((G g) * (B^T d)), with * for each element (Winograd, 1980; Lavin and
// Gray, 2015). G evaluates the polynomial with the coefficients g at a - 1 points and at infinity;
// B^T and A^T come from interpolation. On images the matrices act on rows and columns. A tile of
// a x a pixels gives m x m results; with the channels, the products become a * a products of
// matrices. The gradient of the filter is G^T ((B^T d) * (A dy)).
//
// Rows of G, and columns of A^T, are powers of the points:
//   G[i][j] = point[i]^j, A^T[k][i] = point[i]^k; infinity has 1 for the last power and 0 else.
// Rows of B^T are the coefficients of polynomials:
//   row i: product of (x - point[j]) over j != i, divided by its value at point[i];
//   infinity: product of (x - point[j]) over all j.
// A tile of size a uses the first a points: transformed filters are the same for all sizes, and so
// are sums of the filters' gradients.
//
// These points keep rounding errors small: with 6 they are seven times a direct sum's, with 8
// 10 to 20 times. With 10, L2 errors are about 4e-5 of the results: too much in FP32, but a
// hundredth of what rounding the results to BF16 adds.
template <int kSize>
struct WinogradPoints {
  static_assert(kSize >= 3 && kSize <= kMostWinogradPoints);
  static constexpr int kInfinity = 1;  // its place among the points
  static constexpr double kPoints[kMostWinogradPoints] = {0,  0, 0.5, -0.5,   1,
                                                          -1, 2, -2,  4. / 3, -4. / 3};

  // The element of G or A^T for a power of a point; `count`: number of powers.
  static constexpr float Power(int point, int power, int count) {
    if (point == kInfinity) return power == count - 1 ? 1 : 0;
    double value = 1;
    for (int i = 0; i < power; ++i) value *= kPoints[point];
    return static_cast<float>(value);
  }

  // B^T
  struct Matrix {
    float v[kSize][kSize];
  };
  static constexpr Matrix Images() {
    Matrix matrix = {};
    for (int i = 0; i < kSize; ++i) {
      double row[kSize] = {1}, scale = 1;  // coefficients, of the lowest power first
      int degree = 0;
      for (int j = 0; j < kSize; ++j) {
        if (j == i || j == kInfinity) continue;
        ++degree;
        for (int k = degree; k >= 0; --k) {
          row[k] = (k > 0 ? row[k - 1] : 0) - (k < degree ? kPoints[j] * row[k] : 0);
        }
        if (i != kInfinity) scale *= kPoints[i] - kPoints[j];
      }
      for (int k = 0; k < kSize; ++k) matrix.v[i][k] = static_cast<float>(row[k] / scale);
    }
    return matrix;
  }
};

}  // namespace gf
