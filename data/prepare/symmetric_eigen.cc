#include "data/prepare/symmetric_eigen.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

namespace gf {
namespace {

// Jacobi's method converges quadratically; ten sweeps are rare.
constexpr int kMostSweeps = 100;

// Turns the elements x and y by the angle with this sine and cosine.
void Rotate(double sine, double cosine, double* x, double* y) {
  const double before = *x;
  *x = cosine * before - sine * *y;
  *y = sine * before + cosine * *y;
}

// The rotation J of the axes p < q that makes element p, q of J^T `matrix` J zero. `vectors`, one
// per row, turn along.
void Annihilate(int p, int q, int n, std::vector<double>* matrix, std::vector<double>* vectors) {
  const auto at = [&](int row, int column) -> double& {
    return (*matrix)[int64_t{row} * n + column];
  };
  const double tau = (at(q, q) - at(p, p)) / (2 * at(p, q));
  // The smaller root of t^2 + 2 tau t = 1.
  const double tangent = std::copysign(1 / (std::abs(tau) + std::hypot(1, tau)), tau);
  const double cosine = 1 / std::hypot(1, tangent), sine = tangent * cosine;
  at(p, p) -= tangent * at(p, q);
  at(q, q) += tangent * at(p, q);
  at(p, q) = at(q, p) = 0;
  for (int k = 0; k < n; ++k) {
    Rotate(sine, cosine, &(*vectors)[int64_t{p} * n + k], &(*vectors)[int64_t{q} * n + k]);
    if (k == p || k == q) continue;
    Rotate(sine, cosine, &at(k, p), &at(k, q));
    at(p, k) = at(k, p);
    at(q, k) = at(k, q);
  }
}

// Appends a vector with the sign that SymmetricEigen promises.
void AppendVector(const double* from, int n, std::vector<double>* to) {
  const double* const largest = std::max_element(
      from, from + n, [](double a, double b) { return std::abs(a) < std::abs(b); });
  const double sign = *largest < 0 ? -1 : 1;
  for (int i = 0; i < n; ++i) to->push_back(sign * from[i]);
}

}  // namespace

SymmetricEigen DecomposeSymmetric(std::vector<double> matrix, int n) {
  CHECK_EQ(static_cast<int64_t>(matrix.size()), int64_t{n} * n);
  std::vector<double> vectors(matrix.size());
  double largest = 0;
  for (int i = 0; i < n; ++i) vectors[int64_t{i} * n + i] = 1;
  for (const double value : matrix) largest = std::max(largest, std::abs(value));
  const double limit = std::numeric_limits<double>::epsilon() / 2 * largest;
  bool rotated = true;
  for (int sweep = 0; rotated; ++sweep) {
    CHECK_LT(sweep, kMostSweeps) << "the matrix holds numbers that are not finite";
    rotated = false;
    for (int p = 0; p < n; ++p) {
      for (int q = p + 1; q < n; ++q) {
        if (std::abs(matrix[int64_t{p} * n + q]) <= limit) continue;
        Annihilate(p, q, n, &matrix, &vectors);
        rotated = true;
      }
    }
  }
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  const auto value = [&](int i) { return matrix[int64_t{i} * n + i]; };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return value(a) > value(b); });
  SymmetricEigen eigen;
  for (const int i : order) {
    eigen.values.push_back(value(i));
    AppendVector(&vectors[int64_t{i} * n], n, &eigen.vectors);
  }
  return eigen;
}

}  // namespace gf
