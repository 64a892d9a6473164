#pragma once

#include <cstdint>

namespace gf {

// Sum of the losses / divisor. The order of the sum does not depend on the number of threads.
inline float MeanLoss(const float* losses, int64_t count, double divisor) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += losses[i];
  return static_cast<float>(sum / divisor);
}

}  // namespace gf
