#include "solvers/orthogonal.h"

#include <dnnl.h>
#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/parallel.h"
#include "solvers/update_factors.h"

namespace gf {
namespace {

constexpr int64_t kGrain = 4096;

// d [m][n] = sum over k of a(m, k) * b(k, n), all row-major; `ta`, `tb`: a is stored as [k][m], b
// as [n][k].
void Multiply(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float* a, const float* b,
              float* d) {
  const dnnl_status_t status =
      dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, 1, a, ta ? m : k, b, tb ? k : n, 0, d, n);
  CHECK(status == dnnl_success) << "dnnl_sgemm of " << m << " x " << n << " x " << k;
}

}  // namespace

double MuonRate(const MatrixSize& size, bool match_adamw) {
  if (match_adamw) return 0.2 * std::sqrt(static_cast<double>(size.longer()));
  return std::sqrt(std::max(1.0, static_cast<double>(size.rows) / size.columns));
}

float* Orthogonalizer::Room::Get(int64_t wanted) {
  if (wanted > count) {
    data.reset();
    data.reset(new float[wanted]);
    count = wanted;
  }
  return data.get();
}

void Orthogonalizer::Run(const MatrixSize& size, int iterations, float* x) {
  const int64_t s = size.shorter(), l = size.longer(), all = s * l;
  const bool wide = size.rows <= size.columns;
  float *const gram = gram_.Get(s * s), *const polynomial = polynomial_.Get(s * s);
  float *from = x, *to = next_.Get(all);
  for (int i = 0; i < iterations; ++i) {
    Multiply(!wide, wide, s, s, l, from, from, gram);
    Multiply(false, false, s, s, s, gram, gram, polynomial);
    ParallelFor(s * s, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t e = begin; e < end; ++e) {
        polynomial[e] = kMuonB * gram[e] + kMuonC * polynomial[e];
      }
    });
    for (int64_t e = 0; e < s; ++e) polynomial[e * s + e] += kMuonA;
    if (wide) {
      Multiply(false, false, s, l, s, polynomial, from, to);
    } else {
      Multiply(false, false, l, s, s, from, polynomial, to);
    }
    std::swap(from, to);
  }
  if (from == x) return;
  ParallelFor(all, kGrain,
              [&](int64_t begin, int64_t end) { std::copy(from + begin, from + end, x + begin); });
}

}  // namespace gf
