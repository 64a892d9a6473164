#pragma once

#include <cstdint>
#include <vector>

#include "comm/low_rank/matrices.h"
#include "core/device.h"
#include "core/registry.h"
#include "core/tensor.h"

namespace gf {

// What LOW_RANK works on, in the memory of one device.
struct LowRankPools {
  Tensor gradients;    // pool: FP32 or BF16; FP16 where the host does not read the memory
  Tensor residual;     // FP32 pool with equal offsets
  Tensor left, right;  // FP32: all factors, see LowRankMatrix
};

// Note [Low rank]
// PowerSGD (Vogels, Karimireddy and Jaggi, arXiv 1905.13727, algorithms 1 and 2). With a rank's
// gradient G and residual H of a tensor as a matrix, and the right factor Q of the last step:
//   Project        M = G + H;  P = M Q                  P is then summed over the ranks
//   Orthonormalize the columns of P, in order; dependent ones become 0
//   Correlate      Q = transposed(M) P;  H = M - P transposed(Q)       Q is then summed
//   Expand         G = P transposed(Q), the sum over the ranks
// The ranks' P transposed(Q) add up to G, so what is sent and what is kept add up to M. A step
// begins with Prepare: columns of Q get the norm 1, which changes no result, and columns of zeros
// become random ones, or they would stay 0.
//
// Where a sum P is not finite, G becomes NaN on all ranks, H = M where that is finite, else 0, and
// Q stays as it was but for its length.
//
// Orthonormalize, Prepare and Expand must give the same bits on all ranks, whatever their
// processors: sums have a fixed order and no fused multiply-add.

// LOW_RANK's arithmetic on one device; on a GPU on the compute stream. Matrices are numbered as in
// the plan.
class LowRankArithmetic {
 public:
  virtual ~LowRankArithmetic() = default;

  virtual void Prepare(int64_t step) = 0;
  virtual void Project(int matrix) = 0;
  virtual void Orthonormalize(int matrix) = 0;
  virtual void Correlate(int matrix) = 0;
  virtual void Expand(int matrix) = 0;

  // Between steps the residual may still hold M (Note [Late subtraction]); after this call it holds
  // H.
  virtual void Settle() {}

  // For a step in which everything travels: G = G + H, H = 0.
  virtual void Merge(int matrix) = 0;

  // Multiplies the residuals.
  virtual void Rescale(float factor) = 0;
};

// By the device's name. Device and layout outlive the object.
using LowRankArithmeticRegistry =
    Registry<LowRankArithmetic, Device*, const LowRankPools&, const std::vector<LowRankMatrix>&>;

}  // namespace gf
