#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

namespace gf {

// Blocks of a kernel with a block per sample.
inline int SampleBlocks(int64_t samples) {
  return static_cast<int>(std::min<int64_t>(samples, 1 << 15));
}

// *loss = sum of the `count` losses / divisor; the order of the sum is fixed.
void MeanLoss(const float* losses, int64_t count, double divisor, float* loss, cudaStream_t stream);

}  // namespace gf
