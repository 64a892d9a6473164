#include "comm/bf16_sum.h"

#include "core/bf16_inline.h"

namespace gf {
namespace {

void Add(const uint16_t* from, uint16_t* to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) Store(to + i, Load(to + i) + Load(from + i));
}

}  // namespace

GF_SIMD_DEFINE(BF16SumKernels, BF16Sum) = {&Add};

}  // namespace gf
