#include "comm/bf16_sum.h"

#include "core/dtype.h"

// Sanitizers start too late for the resolvers that choose between clones.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(__clang__)
#define GF_VECTOR_CLONES
#else
#define GF_VECTOR_CLONES __attribute__((target_clones("arch=skylake-avx512", "avx2", "default")))
#endif

namespace gf {

GF_VECTOR_CLONES
void AddBF16(const uint16_t* from, uint16_t* to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = ToBF16(FromBF16(to[i]) + FromBF16(from[i]));
}

}  // namespace gf
