#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"
#include "core/pool_layout.h"
#include "solvers/update_factors.h"

namespace gf {

// Note [Pieces]
// One launch covers any number of tensors. The pool is cut into pieces of at most kPieceSize
// elements that do not cross tensors; each piece is one block. A second, small launch adds the sums
// of a tensor's pieces in order and in double, so the result is the same in every run.
constexpr int64_t kPieceSize = 8192;

struct PoolPiece {
  int64_t begin, end;  // elements of the pool
  int entry;
};

// The constants of an entry.
struct EntryRule {
  double lr_mult;
  float decay;
  int adaptive;
  int first_piece, last_piece;  // [first, last)
};

// The numbers that change from step to step.
struct StepNumbers {
  double lr = 0, gradient_scale = 1;
  bool only_if_finite = false;  // updates do nothing if *bad is not 0
  MomentumFactors momentum;
  AdaptiveFactors adaptive;  // of LAMB and of AdaptiveRules
};

// Arrays in the GPU's memory; all pools have the same offsets.
struct UpdatePools {
  const PoolPiece* pieces = nullptr;
  int piece_count = 0;
  const EntryRule* rules = nullptr;  // [entries]
  int entries = 0;
  StepNumbers* numbers = nullptr;  // one element
  double* sums = nullptr;          // [pieces][2]
  double* rates = nullptr;         // [entries]: learning rates without lr_mult
  // [entries]: 1 = the gradient carries its momentum, see MomentumFactors; null: none does
  const uint8_t* carried = nullptr;
  // See DecaySteps; null: 1 everywhere.
  const float* decay_steps = nullptr;
  int64_t decay_chunk = 1;
  int* bad = nullptr;  // set to 1 if a number is not finite

  DType type = DType::kFP32;  // type of gradients and compute weights
  float* weights = nullptr;
  void* compute = nullptr;  // null: `weights` serve as compute weights
  const void* gradients = nullptr;
  float* first = nullptr;   // velocity; LAMB: mean; of an AdaptiveRule: see Adapt
  float* second = nullptr;  // LAMB: variance; of an AdaptiveRule with two states

  // Muon, otherwise null. [entries]: the factor of a matrix's learning rate; 0: no matrix.
  const float* matrix_rates = nullptr;
  float* directions = nullptr;  // a pool: the directions of matrices
};

// A list of ranges of the pool in the GPU's memory, in order and without overlap. The ranges only
// touch the pieces [first_piece, last_piece).
struct RangeList {
  const int64_t* count = nullptr;
  const ElementRange* ranges = nullptr;  // [*count]
  int first_piece = 0, last_piece = 0;

  bool operator==(const RangeList& other) const {
    return count == other.count && ranges == other.ranges && first_piece == other.first_piece &&
           last_piece == other.last_piece;
  }
};

// Begins a step: sets its numbers and clears sums and *bad.
void BeginUpdates(const UpdatePools& pools, const StepNumbers& numbers, cudaStream_t stream);

// Sets *bad = 1 if a gradient is infinite or NaN; otherwise leaves it unchanged.
void InspectGradients(const UpdatePools& pools, const RangeList& list, cudaStream_t stream);
// Adds sums of squares of weights and gradients to the sums of the pieces. Sets *bad = 1 if one of
// them is infinite or NaN.
void AddSquares(const UpdatePools& pools, const RangeList& list, cudaStream_t stream);

enum class RateRule { kLars, kLarc, kLamb, kMuon };

// Computes `rates` by the rule from the norms in `sums`; lr if the entry is not adaptive or a norm
// is 0. kMuon: what makes a direction's norm 1, see solvers/muon.cc.
void SetRates(const UpdatePools& pools, RateRule rule, double trust, double epsilon,
              cudaStream_t stream);

// See UpdateFunctions::momentum. `inside`: the learning rate multiplies the term added to the
// velocity, instead of the velocity in the update. The rate is the entry's element of `rates`, or
// the step's rate if `rates` is null, times lr_mult.
void MomentumUpdate(const UpdatePools& pools, const RangeList& list, bool inside,
                    cudaStream_t stream);

// compute = weights - rate * lr_mult * residual; the rate is rounded to FP32 after lr_mult.
void WriteAhead(const UpdatePools& pools, const RangeList& list, const float* residual, double rate,
                cudaStream_t stream);

// See UpdateFunctions::lamb_moments and lamb_apply; decay is a constant of the entry.
void LambMoments(const UpdatePools& pools, const RangeList& list, cudaStream_t stream);
void LambApply(const UpdatePools& pools, const RangeList& list, cudaStream_t stream);

// See UpdateFunctions::adaptive; decay is a constant of the entry, and the rate the step's rate
// times lr_mult. Leaves out the matrices of `matrix_rates`.
void AdaptiveUpdate(const UpdatePools& pools, AdaptiveRule rule, const RangeList& list,
                    cudaStream_t stream);

// Muon, for matrices only. Directions: see UpdateFunctions::muon_direction; adds their squares to
// both sums of the pieces. Scale: multiplies directions by `rates`.
void MuonDirections(const UpdatePools& pools, const MuonFactors& factors, const RangeList& list,
                    cudaStream_t stream);
void ScaleDirections(const UpdatePools& pools, const RangeList& list, cudaStream_t stream);
// square = kMuonA + kMuonB * gram + kMuonC * square, where kMuonA stands for a diagonal matrix: two
// matrices of `side` rows.
void MuonPolynomial(const float* gram, float* square, int64_t side, cudaStream_t stream);
// See UpdateFunctions::muon_apply.
void MuonApply(const UpdatePools& pools, const RangeList& list, cudaStream_t stream);

}  // namespace gf
