#include "core/cuda/block_sums_inline.h"
#include "core/cuda/launch_inline.h"
#include "solvers/cuda/update_kernels.h"

namespace gf {
namespace {

// Calls f.Run<n>(i) for the elements of this block's piece that lie in the range; n is 4 with i a
// multiple of it, or 1.
template <typename F>
__device__ void ForPiece(const PoolPiece& piece, const UpdateRange& range, F&& f) {
  const int64_t begin = max(piece.begin, range.begin), end = min(piece.end, range.end);
  const int64_t packs = begin % 4 == 0 && begin < end ? (end - begin) / 4 : 0;
  for (int64_t i = threadIdx.x; i < packs; i += blockDim.x) f.template Run<4>(begin + 4 * i);
  for (int64_t i = begin + 4 * packs + threadIdx.x; i < end; i += blockDim.x) {
    f.template Run<1>(i);
  }
}

// Sums of squares of a thread's elements.
struct Squares {
  float first = 0, second = 0;

  template <int kCount>
  __device__ void Add(const Floats<kCount>& a, const Floats<kCount>& b) {
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      first += a.v[k] * a.v[k];
      second += b.v[k] * b.v[k];
    }
  }
};

// Adds the block's squares to its piece.
__device__ void AddToPiece(const UpdatePools& pools, int piece, const Squares& squares) {
  const double first = BlockSum(static_cast<double>(squares.first));
  const double second = BlockSum(static_cast<double>(squares.second));
  if (threadIdx.x != 0) return;
  pools.sums[2 * piece] += first;
  pools.sums[2 * piece + 1] += second;
  if (!isfinite(first) || !isfinite(second)) *pools.bad = 1;
}

template <typename T>
struct SquaresRun {
  const UpdatePools& pools;
  Squares squares;

  template <int kCount>
  __device__ void Run(int64_t i) {
    squares.Add(LoadFloats<kCount>(pools.weights + i),
                LoadFloats<kCount>(static_cast<const T*>(pools.gradients) + i));
  }
};

template <typename T>
__global__ void __launch_bounds__(kThreads) SquaresKernel(UpdatePools pools, UpdateRange range) {
  const int piece = range.first_piece + blockIdx.x;
  SquaresRun<T> run = {pools, {}};
  ForPiece(pools.pieces[piece], range, run);
  AddToPiece(pools, piece, run.squares);
}

// One block per entry.
__global__ void __launch_bounds__(kThreads) RatesKernel(UpdatePools pools, RateCall call) {
  const EntryRule rule = pools.rules[blockIdx.x];
  double first = 0, second = 0;
  for (int p = rule.first_piece + threadIdx.x; p < rule.last_piece; p += blockDim.x) {
    first += pools.sums[2 * p];
    second += pools.sums[2 * p + 1];
  }
  first = sqrt(BlockSum(first));
  second = sqrt(BlockSum(second));
  if (threadIdx.x != 0) return;
  double rate = call.lr;
  const double gradient = second * call.gradient_scale;
  if (rule.adaptive != 0 && first > 0 && second > 0) {
    switch (call.rule) {
      case RateRule::kLars:
        rate = call.lr * call.trust * first / (gradient + rule.decay * first + call.epsilon);
        break;
      case RateRule::kLarc:
        rate = fmin(call.lr, call.trust * first / (gradient + call.epsilon));
        break;
      case RateRule::kLamb:
        rate = call.lr * first / second;
        break;
    }
  }
  pools.rates[blockIdx.x] = rate;
}

// The new weights, in both pools.
template <int kCount, typename T>
__device__ void StoreWeights(const UpdatePools& pools, int64_t i, const Floats<kCount>& w) {
  StoreFloats(pools.weights + i, w);
  if (pools.compute != nullptr) StoreFloats(static_cast<T*>(pools.compute) + i, w);
}

template <typename T>
struct MomentumRun {
  const UpdatePools& pools;
  const MomentumFactors f;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    Floats<kCount> w = LoadFloats<kCount>(pools.weights + i);
    Floats<kCount> v = LoadFloats<kCount>(pools.first + i);
    const Floats<kCount> g = LoadFloats<kCount>(static_cast<const T*>(pools.gradients) + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const float entering = f.gradient_rate * (f.scale * g.v[k] + f.decay * w.v[k]);
      v.v[k] = f.momentum * v.v[k] + entering;
      w.v[k] -= f.weight_rate * (f.nesterov ? f.momentum * v.v[k] + entering : v.v[k]);
    }
    StoreFloats(pools.first + i, v);
    StoreWeights<kCount, T>(pools, i, w);
  }
};

template <typename T>
__global__ void __launch_bounds__(kThreads)
    MomentumKernel(UpdatePools pools, UpdateRange range, MomentumFactors factors, bool inside,
                   double lr) {
  const PoolPiece piece = pools.pieces[range.first_piece + blockIdx.x];
  const EntryRule rule = pools.rules[piece.entry];
  const double rate = pools.rates != nullptr ? pools.rates[piece.entry] : lr;
  (inside ? factors.gradient_rate : factors.weight_rate) = static_cast<float>(rate * rule.lr_mult);
  factors.decay = rule.decay;
  ForPiece(piece, range, MomentumRun<T>{pools, factors});
}

template <int kCount>
__device__ Floats<kCount> LambDirection(const Floats<kCount>& w, const Floats<kCount>& m,
                                        const Floats<kCount>& v, const LambFactors& f) {
  Floats<kCount> r;
#pragma unroll
  for (int k = 0; k < kCount; ++k) {
    r.v[k] =
        f.correction1 * m.v[k] / (sqrtf(f.correction2 * v.v[k]) + f.epsilon) + f.decay * w.v[k];
  }
  return r;
}

template <typename T>
struct LambMomentsRun {
  const UpdatePools& pools;
  const LambFactors f;
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
      m.v[k] = f.beta1 * m.v[k] + (1 - f.beta1) * gradient;
      v.v[k] = f.beta2 * v.v[k] + (1 - f.beta2) * gradient * gradient;
    }
    StoreFloats(pools.first + i, m);
    StoreFloats(pools.second + i, v);
    squares.Add(w, LambDirection(w, m, v, f));
  }
};

template <typename T>
__global__ void __launch_bounds__(kThreads)
    LambMomentsKernel(UpdatePools pools, UpdateRange range, LambFactors factors) {
  const int index = range.first_piece + blockIdx.x;
  const PoolPiece piece = pools.pieces[index];
  factors.decay = pools.rules[piece.entry].decay;
  LambMomentsRun<T> run = {pools, factors, {}};
  ForPiece(piece, range, run);
  AddToPiece(pools, index, run.squares);
}

template <typename T>
struct LambApplyRun {
  const UpdatePools& pools;
  const LambFactors f;
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
__global__ void __launch_bounds__(kThreads)
    LambApplyKernel(UpdatePools pools, UpdateRange range, LambFactors factors) {
  const PoolPiece piece = pools.pieces[range.first_piece + blockIdx.x];
  const EntryRule rule = pools.rules[piece.entry];
  factors.decay = rule.decay;
  const float rate = static_cast<float>(pools.rates[piece.entry] * rule.lr_mult);
  ForPiece(piece, range, LambApplyRun<T>{pools, factors, rate});
}

int Blocks(const UpdateRange& range) { return range.last_piece - range.first_piece; }

}  // namespace

void AddSquares(const UpdatePools& pools, const UpdateRange& range, cudaStream_t stream) {
  if (Blocks(range) <= 0) return;
  WithType(pools.type, [&](auto t) {
    Launch({Blocks(range), kThreads, stream}, SquaresKernel<decltype(t)>, pools, range);
  });
}

void SetRates(const UpdatePools& pools, const RateCall& call, cudaStream_t stream) {
  if (pools.entries == 0) return;
  Launch({pools.entries, kThreads, stream}, RatesKernel, pools, call);
}

void MomentumUpdate(const UpdatePools& pools, const UpdateRange& range,
                    const MomentumFactors& factors, bool inside, double lr, cudaStream_t stream) {
  if (Blocks(range) <= 0) return;
  WithType(pools.type, [&](auto t) {
    Launch({Blocks(range), kThreads, stream}, MomentumKernel<decltype(t)>, pools, range, factors,
           inside, lr);
  });
}

void LambMoments(const UpdatePools& pools, const UpdateRange& range, const LambFactors& factors,
                 cudaStream_t stream) {
  if (Blocks(range) <= 0) return;
  WithType(pools.type, [&](auto t) {
    Launch({Blocks(range), kThreads, stream}, LambMomentsKernel<decltype(t)>, pools, range,
           factors);
  });
}

void LambApply(const UpdatePools& pools, const UpdateRange& range, const LambFactors& factors,
               cudaStream_t stream) {
  if (Blocks(range) <= 0) return;
  WithType(pools.type, [&](auto t) {
    Launch({Blocks(range), kThreads, stream}, LambApplyKernel<decltype(t)>, pools, range, factors);
  });
}

}  // namespace gf
