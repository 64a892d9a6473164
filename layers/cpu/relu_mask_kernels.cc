#include "layers/cpu/relu_mask_kernels.h"

namespace gf {
namespace {

void MaskFp32(const float* y, float* diff, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) diff[i] = y[i] > 0 ? diff[i] : 0.f;
}

// A BF16 number is positive exactly if its bits, as a signed integer, are.
void MaskBf16(const uint16_t* y, uint16_t* diff, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    diff[i] = static_cast<int16_t>(y[i]) > 0 ? diff[i] : uint16_t{0};
  }
}

}  // namespace

GF_SIMD_DEFINE(ReluMaskKernels, ReluMask) = {&MaskFp32, &MaskBf16};

}  // namespace gf
