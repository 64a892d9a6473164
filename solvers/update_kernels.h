#pragma once

#include <cstdint>

#include "core/simd.h"
#include "solvers/update_factors.h"

namespace gf {

// Inner loops over n elements of pools, on one thread. T, the type of gradients `g` and of the
// compute copy of the weights, is float or uint16_t (BF16); a `compute` that is `w` is not written.
template <typename T>
struct UpdateFunctions {
  // u = gradient_rate * (scale * g + decay * w); v = momentum * v + u;
  // w -= weight_rate * (nesterov ? momentum * v + u : v). With `carried` scale * g is left out of
  // u, and w -= weight_rate * gradient_rate * scale * g besides.
  void (*momentum)(float* w, T* compute, float* v, const T* g, int64_t n,
                   const MomentumFactors& factors);
  // m = beta1 * m + (1 - beta1) * scale * g; v = beta2 * v + (1 - beta2) * (scale * g)^2. sums: the
  // sums of squares of w and of r = correction1 * m / (sqrt(correction2 * v) + epsilon) + decay *
  // w, computed as in `squares`.
  void (*lamb_moments)(const float* w, float* m, float* v, const T* g, int64_t n,
                       const AdaptiveFactors& factors, double sums[2]);
  // w -= rate * r
  void (*lamb_apply)(float* w, T* compute, const float* m, const float* v, int64_t n,
                     const AdaptiveFactors& factors, float rate);
  // Adapt (adaptive_inline.h) of each element with scale * g. Rules of one state do not touch
  // `second`.
  void (*adaptive)(AdaptiveRule rule, float* w, T* compute, float* first, float* second, const T* g,
                   int64_t n, const AdaptiveFactors& factors, float rate);
  // MuonDirection (adaptive_inline.h) of each element with scale * g, into `mean` and `direction`.
  // Returns the sum of squares of the directions, computed as in `squares`.
  double (*muon_direction)(float* mean, float* direction, const T* g, int64_t n,
                           const MuonFactors& factors);
  // w = keep * w - rate * direction
  void (*muon_apply)(float* w, T* compute, const float* direction, int64_t n, float keep,
                     float rate);
  // compute = w - rate * h
  void (*ahead)(const float* w, T* compute, const float* h, int64_t n, float rate);
  // Sums of squares of w and g: FP32 partial sums of at most 128 elements, added in double.
  void (*squares)(const float* w, const T* g, int64_t n, double sums[2]);
  // Whether all elements are finite.
  bool (*finite)(const T* p, int64_t n);
  // sum += g
  void (*add)(float* sum, const T* g, int64_t n);
  // g += sum; sum = 0
  void (*merge)(T* g, float* sum, int64_t n);
};

struct UpdateKernels {
  UpdateFunctions<float> fp32;
  UpdateFunctions<uint16_t> bf16;
  // mean = MovedTo(x, share, mean) (adaptive_inline.h)
  void (*average)(const float* x, float share, float* mean, int64_t n);
};

GF_SIMD_DECLARE(UpdateKernels, Updates)

}  // namespace gf
