#include "core/cuda/launch_inline.h"
#include "solvers/adaptive_inline.h"
#include "solvers/cuda/pieces_inline.h"
#include "solvers/cuda/update_kernels.h"

namespace gf {
namespace {

template <int kCount>
__device__ Floats<kCount> LambDirection(const Floats<kCount>& w, const Floats<kCount>& m,
                                        const Floats<kCount>& v, const AdaptiveFactors& f) {
  Floats<kCount> r;
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    r.v[k] = AdamDirection(m.v[k], v.v[k], f) + f.decay * w.v[k];
  }
  return r;
}

template <typename T>
struct LambMomentsRun {
  const UpdatePools& pools;
  const AdaptiveFactors f;
  Squares squares;

  template <int kCount>
  __device__ void Run(int64_t i) {
    Floats<kCount> m = LoadFloats<kCount>(pools.first + i);
    Floats<kCount> v = LoadFloats<kCount>(pools.second + i);
    const Floats<kCount> w = LoadFloats<kCount>(pools.weights + i);
    const Floats<kCount> g = LoadFloats<kCount>(static_cast<const T*>(pools.gradients) + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const float gradient = f.scale * g.v[k];
      m.v[k] = MeanWith(f.beta1, m.v[k], gradient);
      v.v[k] = MeanSquareWith(f.beta2, v.v[k], gradient);
    }
    StoreFloats(pools.first + i, m);
    StoreFloats(pools.second + i, v);
    squares.Add(w, LambDirection(w, m, v, f));
  }
};

template <typename T>
__global__ void __launch_bounds__(kThreads) LambMomentsKernel(UpdatePools pools, RangeList list) {
  if (Skipped(pools)) return;
  const int index = list.first_piece + blockIdx.x;
  const PoolPiece piece = pools.pieces[index];
  AdaptiveFactors factors = pools.numbers->adaptive;
  factors.decay = pools.rules[piece.entry].decay;
  LambMomentsRun<T> run = {pools, factors, {}};
  ForPiece(piece, list, run);
  AddToPiece(pools, index, run.squares);
}

template <typename T>
struct LambApplyRun {
  const UpdatePools& pools;
  const AdaptiveFactors f;
  const float rate;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    Floats<kCount> w = LoadFloats<kCount>(pools.weights + i);
    const Floats<kCount> r = LambDirection(w, LoadFloats<kCount>(pools.first + i),
                                           LoadFloats<kCount>(pools.second + i), f);
#pragma unroll
    for (int k = 0; k < kCount; ++k) w.v[k] -= rate * r.v[k];
    StoreWeights<kCount, T>(pools, i, w);
  }
};

template <typename T>
__global__ void __launch_bounds__(kThreads) LambApplyKernel(UpdatePools pools, RangeList list) {
  if (Skipped(pools)) return;
  const PoolPiece piece = pools.pieces[list.first_piece + blockIdx.x];
  const EntryRule rule = pools.rules[piece.entry];
  AdaptiveFactors factors = pools.numbers->adaptive;
  factors.decay = rule.decay;
  const float rate = static_cast<float>(pools.rates[piece.entry] * rule.lr_mult);
  ForPiece(piece, list, LambApplyRun<T>{pools, factors, rate});
}

}  // namespace

void LambMoments(const UpdatePools& pools, const RangeList& list, cudaStream_t stream) {
  ForType(pools, list, stream, [&](auto t, const LaunchShape& shape) {
    Launch(shape, LambMomentsKernel<decltype(t)>, pools, list);
  });
}

void LambApply(const UpdatePools& pools, const RangeList& list, cudaStream_t stream) {
  ForType(pools, list, stream, [&](auto t, const LaunchShape& shape) {
    Launch(shape, LambApplyKernel<decltype(t)>, pools, list);
  });
}

}  // namespace gf
