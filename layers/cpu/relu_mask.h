#pragma once

#include <cstdint>

#include "core/dtype.h"
#include "core/parallel.h"
#include "layers/cpu/relu_mask_kernels.h"

namespace gf {

// diff[i] = y[i] > 0 ? diff[i] : 0, for y and diff in FP32 or BF16, by all compute threads.
inline void MaskByRelu(DType type, const void* y, void* diff, int64_t count) {
  ParallelFor(count, 1024, [&](int64_t begin, int64_t end) {
    if (type == DType::kFP32) {
      ReluMask().fp32(static_cast<const float*>(y) + begin, static_cast<float*>(diff) + begin,
                      end - begin);
    } else {
      ReluMask().bf16(static_cast<const uint16_t*>(y) + begin, static_cast<uint16_t*>(diff) + begin,
                      end - begin);
    }
  });
}

}  // namespace gf
