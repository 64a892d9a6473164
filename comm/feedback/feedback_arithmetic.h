#pragma once

#include <cstdint>

#include "core/device.h"
#include "core/dtype.h"
#include "core/pool_layout.h"
#include "core/registry.h"
#include "core/tensor.h"

namespace gf {

// What error feedback works on, in the memory of one device: FP32 pools with equal offsets.
struct FeedbackPools {
  Tensor gradients;
  Tensor residual;
  DType wire = DType::kBF16;  // BF16 or FP16
};

// Error feedback on one device; on a GPU one launch each, on the compute stream. Every device makes
// the bits of FeedbackKernels.
class FeedbackArithmetic {
 public:
  virtual ~FeedbackArithmetic() = default;

  // For gradients g and residuals h of a range: y = g + h rounded to the wire type, h = g + h - y,
  // g = y. Where y is not finite, h = 0: it would stay infinite for ever.
  virtual void Round(const ElementRange& range) = 0;

  // h *= factor, everywhere.
  virtual void Rescale(float factor) = 0;
};

// residual[i] *= factor, in host memory.
void ScaleResidual(float* residual, int64_t count, float factor);

// By the device's name. The device outlives the object.
using FeedbackArithmeticRegistry = Registry<FeedbackArithmetic, Device*, const FeedbackPools&>;

}  // namespace gf
