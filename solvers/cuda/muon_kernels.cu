#include "core/cuda/launch_inline.h"
#include "solvers/adaptive_inline.h"
#include "solvers/cuda/pieces_inline.h"
#include "solvers/cuda/update_kernels.h"

namespace gf {
namespace {

template <typename T>
struct DirectionRun {
  const UpdatePools& pools;
  const MuonFactors f;
  Squares squares;

  template <int kCount>
  __device__ void Run(int64_t i) {
    Floats<kCount> mean = LoadFloats<kCount>(pools.first + i), direction;
    const Floats<kCount> g = LoadFloats<kCount>(static_cast<const T*>(pools.gradients) + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const MuonElement result = MuonDirection(mean.v[k], f.scale * g.v[k], f);
      mean.v[k] = result.mean;
      direction.v[k] = result.direction;
    }
    StoreFloats(pools.first + i, mean);
    StoreFloats(pools.directions + i, direction);
    squares.Add(direction, direction);
  }
};

template <typename T>
__global__ void __launch_bounds__(kThreads)
    DirectionKernel(UpdatePools pools, RangeList list, MuonFactors factors) {
  if (Skipped(pools)) return;
  const int index = list.first_piece + blockIdx.x;
  const PoolPiece piece = pools.pieces[index];
  if (pools.matrix_rates[piece.entry] == 0) return;
  factors.scale = pools.numbers->adaptive.scale;
  DirectionRun<T> run = {pools, factors, {}};
  ForPiece(piece, list, run);
  AddToPiece(pools, index, run.squares);
}

struct ScaleRun {
  const UpdatePools& pools;
  const float factor;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    Floats<kCount> direction = LoadFloats<kCount>(pools.directions + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) direction.v[k] *= factor;
    StoreFloats(pools.directions + i, direction);
  }
};

__global__ void __launch_bounds__(kThreads) ScaleKernel(UpdatePools pools, RangeList list) {
  if (Skipped(pools)) return;
  const PoolPiece piece = pools.pieces[list.first_piece + blockIdx.x];
  if (pools.matrix_rates[piece.entry] == 0) return;
  ForPiece(piece, list, ScaleRun{pools, static_cast<float>(pools.rates[piece.entry])});
}

__global__ void __launch_bounds__(kThreads)
    PolynomialKernel(const float* gram, float* square, int64_t side) {
  for (int64_t row = blockIdx.x; row < side; row += gridDim.x) {
    for (int64_t column = threadIdx.x; column < side; column += blockDim.x) {
      const int64_t i = row * side + column;
      const float diagonal = row == column ? kMuonA : 0.f;
      square[i] = diagonal + (kMuonB * gram[i] + kMuonC * square[i]);
    }
  }
}

template <typename T>
struct MuonApplyRun {
  const UpdatePools& pools;
  const float keep, rate;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    Floats<kCount> w = LoadFloats<kCount>(pools.weights + i);
    const Floats<kCount> direction = LoadFloats<kCount>(pools.directions + i);
#pragma unroll
    for (int k = 0; k < kCount; ++k) w.v[k] = keep * w.v[k] - rate * direction.v[k];
    StoreWeights<kCount, T>(pools, i, w);
  }
};

template <typename T>
__global__ void __launch_bounds__(kThreads) MuonApplyKernel(UpdatePools pools, RangeList list) {
  if (Skipped(pools)) return;
  const PoolPiece piece = pools.pieces[list.first_piece + blockIdx.x];
  const float factor = pools.matrix_rates[piece.entry];
  if (factor == 0) return;
  const EntryRule rule = pools.rules[piece.entry];
  const double lr = pools.numbers->lr * rule.lr_mult;
  const float keep = static_cast<float>(1 - lr * rule.decay);
  ForPiece(piece, list, MuonApplyRun<T>{pools, keep, static_cast<float>(lr * factor)});
}

}  // namespace

void MuonDirections(const UpdatePools& pools, const MuonFactors& factors, const RangeList& list,
                    cudaStream_t stream) {
  ForType(pools, list, stream, [&](auto t, const LaunchShape& shape) {
    Launch(shape, DirectionKernel<decltype(t)>, pools, list, factors);
  });
}

void ScaleDirections(const UpdatePools& pools, const RangeList& list, cudaStream_t stream) {
  const int blocks = list.last_piece - list.first_piece;
  if (blocks > 0) Launch({blocks, kThreads, stream}, ScaleKernel, pools, list);
}

void MuonPolynomial(const float* gram, float* square, int64_t side, cudaStream_t stream) {
  // One block per row, up to the number that fills any GPU.
  Launch({BlocksFor(side * kThreads), kThreads, stream}, PolynomialKernel, gram, square, side);
}

void MuonApply(const UpdatePools& pools, const RangeList& list, cudaStream_t stream) {
  ForType(pools, list, stream, [&](auto t, const LaunchShape& shape) {
    Launch(shape, MuonApplyKernel<decltype(t)>, pools, list);
  });
}

}  // namespace gf
