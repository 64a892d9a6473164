#include "core/cuda/block_sums_inline.h"
#include "core/cuda/launch_inline.h"
#include "solvers/cuda/update_kernels.h"

namespace gf {
namespace {

// Calls f.Run<n>(i) for this block's elements of [begin, end). n is 4 for aligned i, otherwise 1.
template <typename F>
__device__ void ForElements(int64_t begin, int64_t end, F&& f) {
  const int64_t packs = begin % 4 == 0 && begin < end ? (end - begin) / 4 : 0;
  for (int64_t i = threadIdx.x; i < packs; i += blockDim.x) f.template Run<4>(begin + 4 * i);
  for (int64_t i = begin + 4 * packs + threadIdx.x; i < end; i += blockDim.x) {
    f.template Run<1>(i);
  }
}

// The same for the elements of a piece that are in the ranges.
template <typename F>
__device__ void ForPiece(const PoolPiece& piece, const RangeList& list, F&& f) {
  // The first range that ends after the beginning of the piece.
  const int64_t count = *list.count;
  int64_t at = 0, end = count;
  while (at < end) {
    const int64_t middle = (at + end) / 2;
    if (list.ranges[middle].end <= piece.begin) {
      at = middle + 1;
    } else {
      end = middle;
    }
  }
  for (; at < count && list.ranges[at].begin < piece.end; ++at) {
    const ElementRange range = list.ranges[at];
    ForElements(max(piece.begin, range.begin), min(piece.end, range.end), f);
  }
}

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

// Whether this step must not change weights.
__device__ bool Skipped(const UpdatePools& pools) {
  return pools.numbers->only_if_finite && *pools.bad != 0;
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

// Adds the block's squares to its piece. Thread 0 returns whether they are finite; other threads
// return true.
__device__ bool AddToPiece(const UpdatePools& pools, int piece, const Squares& squares) {
  const double first = BlockSum(static_cast<double>(squares.first));
  const double second = BlockSum(static_cast<double>(squares.second));
  if (threadIdx.x != 0) return true;
  pools.sums[2 * piece] += first;
  pools.sums[2 * piece + 1] += second;
  return isfinite(first) && isfinite(second);
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
    }
  }
  pools.rates[blockIdx.x] = rate;
}

// Writes the new weights to both pools.
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
    MomentumKernel(UpdatePools pools, RangeList list, bool inside) {
  if (Skipped(pools)) return;
  const PoolPiece piece = pools.pieces[list.first_piece + blockIdx.x];
  const EntryRule rule = pools.rules[piece.entry];
  const double rate = pools.rates != nullptr ? pools.rates[piece.entry] : pools.numbers->lr;
  MomentumFactors factors = pools.numbers->momentum;
  (inside ? factors.gradient_rate : factors.weight_rate) = static_cast<float>(rate * rule.lr_mult);
  factors.decay = rule.decay;
  ForPiece(piece, list, MomentumRun<T>{pools, factors});
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
__global__ void __launch_bounds__(kThreads) LambMomentsKernel(UpdatePools pools, RangeList list) {
  if (Skipped(pools)) return;
  const int index = list.first_piece + blockIdx.x;
  const PoolPiece piece = pools.pieces[index];
  LambFactors factors = pools.numbers->lamb;
  factors.decay = pools.rules[piece.entry].decay;
  LambMomentsRun<T> run = {pools, factors, {}};
  ForPiece(piece, list, run);
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
__global__ void __launch_bounds__(kThreads) LambApplyKernel(UpdatePools pools, RangeList list) {
  if (Skipped(pools)) return;
  const PoolPiece piece = pools.pieces[list.first_piece + blockIdx.x];
  const EntryRule rule = pools.rules[piece.entry];
  LambFactors factors = pools.numbers->lamb;
  factors.decay = rule.decay;
  const float rate = static_cast<float>(pools.rates[piece.entry] * rule.lr_mult);
  ForPiece(piece, list, LambApplyRun<T>{pools, factors, rate});
}

// Calls launch(value of the gradients' type, shape with one block per piece) if there are pieces.
template <typename F>
void ForType(const UpdatePools& pools, const RangeList& list, cudaStream_t stream,
             const F& launch) {
  const int blocks = list.last_piece - list.first_piece;
  if (blocks <= 0) return;
  WithType(pools.type, [&](auto t) { launch(t, LaunchShape(blocks, kThreads, stream)); });
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
    Launch(shape, MomentumKernel<decltype(t)>, pools, list, inside);
  });
}

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
