#include "core/cuda/block_sums_inline.h"
#include "core/cuda/launch_inline.h"
#include "solvers/cuda/pieces_inline.h"
#include "solvers/cuda/update_kernels.h"

namespace gf {
namespace {

__global__ void __launch_bounds__(kThreads) BeginKernel(UpdatePools pools, StepNumbers numbers) {
  const int first = blockIdx.x * blockDim.x + threadIdx.x;
  if (first == 0) {
    *pools.numbers = numbers;
    *pools.bad = 0;
  }
  for (int i = first; i < 2 * pools.piece_count; i += gridDim.x * blockDim.x) pools.sums[i] = 0;
}

template <typename T>
struct InspectRun {
  const UpdatePools& pools;
  bool finite;

  template <int kCount>
  __device__ void Run(int64_t i) {
    const Floats<kCount> g = LoadFloats<kCount>(static_cast<const T*>(pools.gradients) + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) finite = finite && isfinite(g.v[k]);
  }
};

template <typename T>
__global__ void __launch_bounds__(kThreads) InspectKernel(UpdatePools pools, RangeList list) {
  InspectRun<T> run = {pools, true};
  ForPiece(pools.pieces[list.first_piece + blockIdx.x], list, run);
  if (!run.finite) *pools.bad = 1;
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
__global__ void __launch_bounds__(kThreads) SquaresKernel(UpdatePools pools, RangeList list) {
  const int piece = list.first_piece + blockIdx.x;
  SquaresRun<T> run = {pools, {}};
  ForPiece(pools.pieces[piece], list, run);
  if (!AddToPiece(pools, piece, run.squares)) *pools.bad = 1;
}

// One block per entry.
__global__ void __launch_bounds__(kThreads)
    RatesKernel(UpdatePools pools, RateRule which, double trust, double epsilon) {
  const double lr = pools.numbers->lr;
  const EntryRule rule = pools.rules[blockIdx.x];
  double first = 0, second = 0;
  for (int p = rule.first_piece + threadIdx.x; p < rule.last_piece; p += blockDim.x) {
    first += pools.sums[2 * p];
    second += pools.sums[2 * p + 1];
  }
  first = sqrt(BlockSum(first));
  second = sqrt(BlockSum(second));
  if (threadIdx.x != 0) return;
  double rate = lr;
  const double gradient = second * pools.numbers->gradient_scale;
  if (rule.adaptive != 0 && first > 0 && second > 0) {
    switch (which) {
      case RateRule::kLars:
        rate = lr * trust * first / (gradient + rule.decay * first + epsilon);
        break;
      case RateRule::kLarc:
        rate = fmin(lr, trust * first / (gradient + epsilon));
        break;
      case RateRule::kLamb:
        rate = lr * first / second;
        break;
      case RateRule::kMuon:
        rate = 1 / fmax(first, kLeastMuonNorm);
        break;
    }
  }
  pools.rates[blockIdx.x] = rate;
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
      const float gradient = f.scale * g.v[k];
      const float entering = f.gradient_rate * ((f.carried ? 0 : gradient) + f.decay * w.v[k]);
      const float past = f.carried ? f.gradient_rate * gradient : 0;
      v.v[k] = f.momentum * v.v[k] + entering;
      w.v[k] -= f.weight_rate * ((f.nesterov ? f.momentum * v.v[k] + entering : v.v[k]) + past);
    }
    StoreFloats(pools.first + i, v);
    StoreWeights<kCount, T>(pools, i, w);
  }
};

// The factors of a piece, and its rate.
inline __device__ MomentumFactors FactorsOf(const UpdatePools& pools, const PoolPiece& piece,
                                            bool inside, float* rate) {
  const EntryRule rule = pools.rules[piece.entry];
  const double own = pools.rates != nullptr ? pools.rates[piece.entry] : pools.numbers->lr;
  *rate = static_cast<float>(own * rule.lr_mult);
  MomentumFactors factors = pools.numbers->momentum;
  (inside ? factors.gradient_rate : factors.weight_rate) = *rate;
  factors.decay = rule.decay;
  factors.carried = pools.carried != nullptr && pools.carried[piece.entry] != 0;
  return factors;
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    MomentumKernel(UpdatePools pools, RangeList list, bool inside) {
  if (Skipped(pools)) return;
  const PoolPiece piece = pools.pieces[list.first_piece + blockIdx.x];
  float rate;
  const MomentumFactors factors = FactorsOf(pools, piece, inside, &rate);
  ForPiece(piece, list, MomentumRun<T>{pools, factors});
}

// The same with the decay of several steps.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    LateDecayKernel(UpdatePools pools, RangeList list, bool inside) {
  if (Skipped(pools)) return;
  const PoolPiece piece = pools.pieces[list.first_piece + blockIdx.x];
  float rate;
  MomentumFactors factors = FactorsOf(pools, piece, inside, &rate);
  const float decay = factors.decay;
  ForRanges(piece, list, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin / pools.decay_chunk; begin < end; ++chunk) {
      const int64_t last = min(end, (chunk + 1) * pools.decay_chunk);
      factors.decay = CaughtUpDecay(decay, pools.decay_steps[chunk], rate);
      ForElements(begin, last, MomentumRun<T>{pools, factors});
      begin = last;
    }
  });
}

template <typename T>
struct AheadRun {
  const UpdatePools& pools;
  const float* residual;
  const float rate;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    Floats<kCount> w = LoadFloats<kCount>(pools.weights + i);
    const Floats<kCount> h = LoadFloats<kCount>(residual + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) w.v[k] -= rate * h.v[k];
    StoreFloats(static_cast<T*>(pools.compute) + i, w);
  }
};

template <typename T>
__global__ void __launch_bounds__(kThreads)
    AheadKernel(UpdatePools pools, RangeList list, const float* residual, double rate) {
  const PoolPiece piece = pools.pieces[list.first_piece + blockIdx.x];
  const auto own = static_cast<float>(rate * pools.rules[piece.entry].lr_mult);
  ForPiece(piece, list, AheadRun<T>{pools, residual, own});
}

}  // namespace

void BeginUpdates(const UpdatePools& pools, const StepNumbers& numbers, cudaStream_t stream) {
  Launch({BlocksFor(2 * int64_t{pools.piece_count}), kThreads, stream}, BeginKernel, pools,
         numbers);
}

void InspectGradients(const UpdatePools& pools, const RangeList& list, cudaStream_t stream) {
  ForType(pools, list, stream, [&](auto t, const LaunchShape& shape) {
    Launch(shape, InspectKernel<decltype(t)>, pools, list);
  });
}

void AddSquares(const UpdatePools& pools, const RangeList& list, cudaStream_t stream) {
  ForType(pools, list, stream, [&](auto t, const LaunchShape& shape) {
    Launch(shape, SquaresKernel<decltype(t)>, pools, list);
  });
}

void SetRates(const UpdatePools& pools, RateRule rule, double trust, double epsilon,
              cudaStream_t stream) {
  if (pools.entries == 0) return;
  Launch({pools.entries, kThreads, stream}, RatesKernel, pools, rule, trust, epsilon);
}

void MomentumUpdate(const UpdatePools& pools, const RangeList& list, bool inside,
                    cudaStream_t stream) {
  ForType(pools, list, stream, [&](auto t, const LaunchShape& shape) {
    const bool late = pools.decay_steps != nullptr;
    const auto kernel = late ? LateDecayKernel<decltype(t)> : MomentumKernel<decltype(t)>;
    Launch(shape, kernel, pools, list, inside);
  });
}

void WriteAhead(const UpdatePools& pools, const RangeList& list, const float* residual, double rate,
                cudaStream_t stream) {
  ForType(pools, list, stream, [&](auto t, const LaunchShape& shape) {
    Launch(shape, AheadKernel<decltype(t)>, pools, list, residual, rate);
  });
}

}  // namespace gf
