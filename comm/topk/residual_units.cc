#include "comm/topk/residual_units.h"

#include "comm/pack/large_weights.h"
#include "core/parallel.h"

namespace gf {
namespace {

// body(i) for the elements of large weights, in parallel.
template <typename Body>
void ForLargeWeights(const PoolLayout& layout, const Body& body) {
  constexpr int64_t kGrain = 1 << 14;
  for (const PoolEntry& entry : layout.entries()) {
    if (!IsLargeWeight(entry)) continue;
    ParallelFor(entry.count, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = entry.offset + begin; i < entry.offset + end; ++i) body(i);
    });
  }
}

}  // namespace

void ToGradients(const PoolLayout& layout, const MomentumOfSolver& solver, const float* velocity,
                 float* residual) {
  const float m = solver.momentum, future = solver.nesterov ? m * m : m;
  ForLargeWeights(layout,
                  [=](int64_t i) { residual[i] = (1 - m) * residual[i] + future * velocity[i]; });
}

void ToTopkResiduals(const PoolLayout& layout, const MomentumOfSolver& solver, float* residual) {
  const float m = solver.momentum;
  ForLargeWeights(layout, [=](int64_t i) { residual[i] /= 1 - m; });
}

}  // namespace gf
