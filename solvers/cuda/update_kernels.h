#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"
#include "core/pool_layout.h"
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

// What changes from step to step.
struct StepNumbers {
  double lr = 0, gradient_scale = 1;
  bool only_if_finite = false;  // updates do nothing where *bad is not 0
  MomentumFactors momentum;
  LambFactors lamb;
};

// Arrays in the GPU's memory; pools of equal offsets.
struct UpdatePools {
  const PoolPiece* pieces = nullptr;
  int piece_count = 0;
  const EntryRule* rules = nullptr;  // [entries]
  int entries = 0;
  StepNumbers* numbers = nullptr;  // one
  double* sums = nullptr;          // [pieces][2]
  double* rates = nullptr;         // [entries]: learning rates without lr_mult
  int* bad = nullptr;              // becomes 1 when something is not finite

  DType type = DType::kFP32;  // of gradients and compute weights
  float* weights = nullptr;
  void* compute = nullptr;  // null in FP32: the weights themselves
  const void* gradients = nullptr;
  float* first = nullptr;   // velocity; LAMB: mean
  float* second = nullptr;  // LAMB: variance
};

// Elements of the pool, in the GPU's memory: ranges in order that do not overlap. They touch no
// other pieces than [first_piece, last_piece).
struct RangeList {
  const int64_t* count = nullptr;
  const ElementRange* ranges = nullptr;  // [*count]
  int first_piece = 0, last_piece = 0;

  bool operator==(const RangeList& other) const {
    return count == other.count && ranges == other.ranges && first_piece == other.first_piece &&
           last_piece == other.last_piece;
  }
};

// A new step: its numbers; sums and *bad are 0.
void BeginUpdates(const UpdatePools& pools, const StepNumbers& numbers, cudaStream_t stream);

// *bad = 1 if a gradient is infinite or NaN; else it stays.
void InspectGradients(const UpdatePools& pools, const RangeList& list, cudaStream_t stream);
// Adds the sums of squares of weights and gradients to those of the pieces; *bad = 1 if one of them
// is infinite or NaN.
void AddSquares(const UpdatePools& pools, const RangeList& list, cudaStream_t stream);

enum class RateRule { kLars, kLarc, kLamb };

// rates = those of the rule, from the norms in `sums`; lr where the entry is not adaptive or a norm
// is 0.
void SetRates(const UpdatePools& pools, RateRule rule, double trust, double epsilon,
              cudaStream_t stream);

// See UpdateFunctions::momentum. `inside`: the learning rate multiplies what enters the velocity
// rather than what leaves it. It is the entry's in `rates`, or the step's with rates == null, times
// lr_mult.
void MomentumUpdate(const UpdatePools& pools, const RangeList& list, bool inside,
                    cudaStream_t stream);

// See UpdateFunctions::lamb_moments and lamb_apply; decay is the entry's.
void LambMoments(const UpdatePools& pools, const RangeList& list, cudaStream_t stream);
void LambApply(const UpdatePools& pools, const RangeList& list, cudaStream_t stream);

}  // namespace gf
