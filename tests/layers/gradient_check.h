#pragma once

#include "tests/layers/layer_tester.h"

namespace gf {

// Compares every gradient with central differences of Objective (FP32 kernels) at up to
// `samples` elements per tensor, with smaller and smaller steps. Differences count if those of
// a step and of half of it agree. Elements where they never do lie at a kink; more than a
// fifth of such elements is a failure.
struct GradientCheck {
  float step = 1e-2f;       // the first
  double tolerance = 3e-3;  // relative to the larger of the gradient and the tensor's rms
  int samples = 48;
};
void ExpectGradients(const LayerCase& test, const RunOptions& options,
                     const GradientCheck& check = {});

}  // namespace gf
