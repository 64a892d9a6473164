#include "solvers/update_kernels.h"

#include "core/bf16_inline.h"

namespace gf {
namespace {

template <typename T>
void Update(float* __restrict w, uint16_t* __restrict compute, float* __restrict v,
            const T* __restrict g, int64_t n, const SgdFactors& factors) {
  const float rate = factors.rate, momentum = factors.momentum;
  const float decay = factors.decay, scale = factors.scale;
  for (int64_t i = 0; i < n; ++i) {
    const float weight = w[i];
    const float velocity = momentum * v[i] + rate * (scale * Load(g + i) + decay * weight);
    v[i] = velocity;
    w[i] = weight - velocity;
    if (sizeof(T) == 2) Store(compute + i, weight - velocity);
  }
}

void Sgd(float* w, float* v, const float* g, int64_t n, const SgdFactors& factors) {
  Update(w, nullptr, v, g, n, factors);
}

void SgdBf16(float* w, uint16_t* compute, float* v, const uint16_t* g, int64_t n,
             const SgdFactors& factors) {
  Update(w, compute, v, g, n, factors);
}

template <typename T>
void Add(float* __restrict sum, const T* __restrict g, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += Load(g + i);
}

template <typename T>
void Merge(T* __restrict g, float* __restrict sum, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    Store(g + i, Load(g + i) + sum[i]);
    sum[i] = 0;
  }
}

}  // namespace

GF_SIMD_DEFINE(UpdateKernels, Updates) = {&Sgd,           &SgdBf16,      &Add<float>,
                                          &Add<uint16_t>, &Merge<float>, &Merge<uint16_t>};

}  // namespace gf
