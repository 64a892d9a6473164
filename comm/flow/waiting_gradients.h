#pragma once

#include <vector>

#include "core/pool_layout.h"
#include "core/tensor.h"

namespace gf {

// Gradients that a rank has not sent yet. `residual`, FP32 with the layout's offsets, is 0 outside
// the ranges, which are in the pool's order; no data: nothing waits.
struct WaitingGradients {
  Tensor residual;
  std::vector<ElementRange> ranges;
};

}  // namespace gf
