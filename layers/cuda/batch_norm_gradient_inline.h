#pragma once

#include "core/cuda/launch_inline.h"
#include "layers/cuda/batch_norm_kernels.h"

namespace gf {

// The gradient of a batch norm's bottom is dx = a * dz + b * x + c in each channel (Ioffe and
// Szegedy, section 3):
//   dx = gamma / std * (dz - mean(dz) - xhat * mean(dz * xhat)).
struct GradientFactors {
  float a, b, c;
};

// From the sums of dz, and of dz * (x - mean), over `count` values. `scale`: gamma / std.
__device__ inline GradientFactors FactorsOf(double scale, double inverse_std, float mean,
                                            const double* sums, double count) {
  const double product = sums[1] * inverse_std;  // the sum of dz * xhat
  const double slope = -scale * inverse_std * product / count;
  return {static_cast<float>(scale), static_cast<float>(slope),
          static_cast<float>(-slope * mean - scale * sums[0] / count)};
}

// Gradients of gamma and beta, and the factors of dx.
template <typename T>
struct FinishGradients {
  BatchNormChannels ch;
  double count;
  bool global_statistics;
  T* dgamma;
  T* dbeta;

  __device__ void operator()(int c, const double* sums) const {
    const double inverse_std = ch.inverse_std[c];
    if (dgamma != nullptr) dgamma[c] = FromFloat<T>(static_cast<float>(sums[1] * inverse_std));
    if (dbeta != nullptr) dbeta[c] = FromFloat<T>(static_cast<float>(sums[0]));
    const double scale = (ch.gamma != nullptr ? ch.gamma[c] : 1.f) * inverse_std;
    const GradientFactors factors = FactorsOf(scale, inverse_std, ch.mean[c], sums, count);
    ch.a[c] = factors.a;
    ch.b[c] = global_statistics ? 0 : factors.b;
    ch.c[c] = global_statistics ? 0 : factors.c;
  }
};

template <typename T>
FinishGradients<T> FinishOf(const BatchNormBackward& call) {
  return {call.channels, static_cast<double>(call.view.rows), call.global_statistics,
          static_cast<T*>(call.dgamma), static_cast<T*>(call.dbeta)};
}

}  // namespace gf
