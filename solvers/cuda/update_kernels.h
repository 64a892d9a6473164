#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"
#include "solvers/update_factors.h"

namespace gf {

// Note [Pieces]
// One launch goes over any number of tensors: the pool is cut into pieces of at most kPieceSize
// elements that do not cross tensors, one block each. Sums of a tensor are those of its pieces,
// added up in their order in double by a second, small launch, so that they are the same bits in
// every run.
constexpr int64_t kPieceSize = 8192;

struct PoolPiece {
  int64_t begin, end;  // elements of the pool
  int entry;
};

// What does not change about an entry.
struct EntryRule {
  double lr_mult;
  float decay;
  int adaptive;
  int first_piece, last_piece;  // [first, last)
};

// Arrays in the GPU's memory; pools of equal offsets.
struct UpdatePools {
  const PoolPiece* pieces = nullptr;
  const EntryRule* rules = nullptr;  // [entries]
  int entries = 0;
  double* sums = nullptr;   // [pieces][2]
  double* rates = nullptr;  // [entries]: learning rates without lr_mult
  int* bad = nullptr;       // becomes 1 when something is not finite

  DType type = DType::kFP32;  // of gradients and compute weights
  float* weights = nullptr;
  void* compute = nullptr;  // null in FP32: the weights themselves
  const void* gradients = nullptr;
  float* first = nullptr;   // velocity; LAMB: mean
  float* second = nullptr;  // LAMB: variance
};

// The elements [begin, end) of the pool, and the pieces they lie in.
struct UpdateRange {
  int64_t begin, end;
  int first_piece, last_piece;  // [first, last)
};

// Adds the sums of squares of weights and gradients to those of the pieces.
void AddSquares(const UpdatePools& pools, const UpdateRange& range, cudaStream_t stream);

enum class RateRule { kLars, kLarc, kLamb };

struct RateCall {
  RateRule rule = RateRule::kLars;
  double lr = 0, trust = 0, epsilon = 0;
  double gradient_scale = 1;
};

// rates = those of the rule, from the norms in `sums`; lr where the entry is not adaptive or a norm
// is 0.
void SetRates(const UpdatePools& pools, const RateCall& call, cudaStream_t stream);

// See UpdateFunctions::momentum. `inside`: the learning rate multiplies what enters the velocity
// rather than what leaves it. It is the entry's rate, or `lr` with rates == null, times lr_mult.
void MomentumUpdate(const UpdatePools& pools, const UpdateRange& range,
                    const MomentumFactors& factors, bool inside, double lr, cudaStream_t stream);

// See UpdateFunctions::lamb_moments and lamb_apply; decay is the entry's.
void LambMoments(const UpdatePools& pools, const UpdateRange& range, const LambFactors& factors,
                 cudaStream_t stream);
void LambApply(const UpdatePools& pools, const UpdateRange& range, const LambFactors& factors,
               cudaStream_t stream);

}  // namespace gf
