#include "comm/low_rank/orthonormal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "comm/low_rank/start_inline.h"

namespace gf {
namespace {

// A column that loses all but this share of its norm to earlier columns depends on them, as far as
// FP32 tells.
constexpr double kDependent = 1e-5;

double Dot(const double* a, const double* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

bool MakeOrthonormal(float* columns, int64_t rows, int rank) {
  std::vector<double> values(columns, columns + rank * rows);
  for (int k = 0; k < rank; ++k) {
    double* const column = values.data() + k * rows;
    const double before = std::sqrt(Dot(column, column, rows));
    if (!std::isfinite(before)) {
      std::fill_n(columns, rank * rows, std::numeric_limits<float>::quiet_NaN());
      return false;
    }
    for (int pass = 0; pass < 2; ++pass) {
      for (int e = 0; e < k; ++e) {
        const double* const earlier = values.data() + e * rows;
        const double share = Dot(earlier, column, rows);
        for (int64_t i = 0; i < rows; ++i) column[i] -= share * earlier[i];
      }
    }
    const double after = std::sqrt(Dot(column, column, rows));
    const double scale = after > kDependent * before ? 1 / after : 0;
    for (int64_t i = 0; i < rows; ++i) column[i] *= scale;
  }
  std::copy(values.begin(), values.end(), columns);
  return true;
}

void NormalizeColumns(float* columns, int64_t rows, int rank, int64_t step, int64_t first_column) {
  for (int k = 0; k < rank; ++k) {
    float* const column = columns + k * rows;
    double squares = 0;
    for (int64_t i = 0; i < rows; ++i) squares += double{column[i]} * double{column[i]};
    const double norm = std::sqrt(squares);
    const bool usable = norm > 0 && std::isfinite(norm);
    for (int64_t i = 0; i < rows; ++i) {
      column[i] = usable ? static_cast<float>(double{column[i]} / norm)
                         : RandomFactor(step, first_column + k, i);
    }
  }
}

}  // namespace gf
