#include "layers/cpu/sum_kernels.h"

#include "core/bf16_inline.h"

namespace gf {
namespace {

template <typename T>
void Sum(const T* a, const T* b, T* to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) Store(to + i, Load(a + i) + Load(b + i));
}

}  // namespace

GF_SIMD_DEFINE(SumKernels, SumTable) = {&Sum<float>, &Sum<uint16_t>};

}  // namespace gf
