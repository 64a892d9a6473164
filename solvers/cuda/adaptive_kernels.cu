#include "core/cuda/launch_inline.h"
#include "solvers/adaptive_inline.h"
#include "solvers/cuda/pieces_inline.h"
#include "solvers/cuda/update_kernels.h"

namespace gf {
namespace {

template <AdaptiveRule kRule, typename T>
struct AdaptiveRun {
  const UpdatePools& pools;
  const AdaptiveFactors f;
  const float rate;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    constexpr bool kSecond = HasSecondState(kRule);
    Floats<kCount> w = LoadFloats<kCount>(pools.weights + i);
    Floats<kCount> first = LoadFloats<kCount>(pools.first + i);
    Floats<kCount> second = {};
    if constexpr (kSecond) second = LoadFloats<kCount>(pools.second + i);
    const Floats<kCount> g = LoadFloats<kCount>(static_cast<const T*>(pools.gradients) + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const AdaptedWeight result =
          Adapt<kRule>({w.v[k], first.v[k], second.v[k]}, f.scale * g.v[k], f, rate);
      w.v[k] = result.w;
      first.v[k] = result.first;
      second.v[k] = result.second;
    }
    StoreFloats(pools.first + i, first);
    if constexpr (kSecond) StoreFloats(pools.second + i, second);
    StoreWeights<kCount, T>(pools, i, w);
  }
};

template <AdaptiveRule kRule, typename T>
__global__ void __launch_bounds__(kThreads) AdaptiveKernel(UpdatePools pools, RangeList list) {
  if (Skipped(pools)) return;
  const PoolPiece piece = pools.pieces[list.first_piece + blockIdx.x];
  if (pools.matrix_rates != nullptr && pools.matrix_rates[piece.entry] > 0) return;
  const EntryRule rule = pools.rules[piece.entry];
  AdaptiveFactors factors = pools.numbers->adaptive;
  factors.decay = rule.decay;
  const float rate = static_cast<float>(pools.numbers->lr * rule.lr_mult);
  ForPiece(piece, list, AdaptiveRun<kRule, T>{pools, factors, rate});
}

template <AdaptiveRule kRule>
void UpdateBy(const UpdatePools& pools, const RangeList& list, cudaStream_t stream) {
  ForType(pools, list, stream, [&](auto t, const LaunchShape& shape) {
    Launch(shape, AdaptiveKernel<kRule, decltype(t)>, pools, list);
  });
}

}  // namespace

void AdaptiveUpdate(const UpdatePools& pools, AdaptiveRule rule, const RangeList& list,
                    cudaStream_t stream) {
  WithRule(rule, [&](auto constant) { UpdateBy<decltype(constant)::value>(pools, list, stream); });
}

}  // namespace gf
