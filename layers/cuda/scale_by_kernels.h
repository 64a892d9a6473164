#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/dtype.h"

namespace gf {

// A tensor viewed as [outer][units][inner], with one factor per unit; or, channels last, images of
// [inner][units] elements, with `units` factors per image.
struct ScaleByView {
  int64_t outer = 0, units = 0, inner = 0;
  bool channels_last = false;
  bool adds = false;  // the factor is added
};

// y = factor * x + addend, which may be null; or y = x + factor + addend. All have the same type.
void ScaleByForward(const ScaleByView& view, DType type, const void* x, const void* factor,
                    const void* addend, void* y, cudaStream_t stream);
// dfactor = the sums of dy * x, or of dy if the factor is added (x is not read then), over the
// elements that share a factor, in a fixed order.
void ScaleByFactorGradient(const ScaleByView& view, DType type, const void* x, const void* dy,
                           void* dfactor, cudaStream_t stream);

}  // namespace gf
