#pragma once

#include "core/device.h"
#include "core/pool_layout.h"
#include "core/registry.h"
#include "core/tensor.h"

namespace gf {

// What the end of a round works on, in the memory of one device: FP32 pools with equal offsets.
struct OuterPools {
  Tensor weights;      // of this rank
  Tensor anchor;       // the weights at the start of the round, the same on all ranks
  Tensor differences;  // what the ranks sum
  Tensor velocity;     // of the outer step; no data: it has no momentum
};

// The outer step: SGD with Nesterov momentum on the mean of the ranks' differences.
struct OuterFactors {
  float rate = 1;
  float momentum = 0;
  int world = 1;
};

// The end of a round on one device; on a GPU one launch each, on the compute stream. Every device
// makes the same bits.
class OuterArithmetic {
 public:
  virtual ~OuterArithmetic() = default;

  // anchor = weights, everywhere.
  virtual void Anchor() = 0;
  // differences = anchor - weights, in a range.
  virtual void Subtract(const ElementRange& range) = 0;
  // With d = differences / world, in a range:
  //   without momentum   anchor = anchor - rate * d
  //   with momentum      velocity = momentum * velocity + d
  //                      anchor = anchor - rate * (momentum * velocity + d)
  // and weights = anchor.
  virtual void Step(const ElementRange& range) = 0;
  // weights = anchor, in a range.
  virtual void Return(const ElementRange& range) = 0;
};

// By the device's name. The device outlives the object.
using OuterArithmeticRegistry =
    Registry<OuterArithmetic, Device*, const OuterPools&, const OuterFactors&>;

}  // namespace gf
