#include "comm/periodic/kernels.h"

namespace gf {
namespace {

void Subtract(const float* __restrict a, const float* __restrict w, float* __restrict d,
              int64_t n) {
  for (int64_t i = 0; i < n; ++i) d[i] = a[i] - w[i];
}

void Step(const float* __restrict d, float* __restrict a, float* __restrict w, int64_t n,
          float scale, float rate) {
  for (int64_t i = 0; i < n; ++i) {
    const float next = a[i] - rate * (scale * d[i]);
    a[i] = next;
    w[i] = next;
  }
}

void StepWithMomentum(const float* __restrict d, float* __restrict v, float* __restrict a,
                      float* __restrict w, int64_t n, float scale, float rate, float momentum) {
  for (int64_t i = 0; i < n; ++i) {
    const float mean = scale * d[i];
    const float velocity = momentum * v[i] + mean;
    const float next = a[i] - rate * (momentum * velocity + mean);
    v[i] = velocity;
    a[i] = next;
    w[i] = next;
  }
}

}  // namespace

GF_SIMD_DEFINE(OuterKernels, Outer) = {&Subtract, &Step, &StepWithMomentum};

}  // namespace gf
