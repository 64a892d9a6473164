#pragma once

#include <cstdint>
#include <vector>

#include "core/cpu/channel_view.h"
#include "core/dtype.h"
#include "layers/cpu/scale_kernels.h"

namespace gf {

// Computes y = gamma * x + beta, with a gamma and a beta per channel, and its gradients, on tensors
// with a ChannelView. Padding stays zero.
class ChannelAffine {
 public:
  // `type`: of the tensors and of the gradients of gamma and beta, FP32 or BF16. With the kernels
  // Prelu(), gamma belongs to negative numbers only and there is no beta.
  explicit ChannelAffine(DType type, const ScaleKernels& kernels = Scale());

  void SetView(const ChannelView& view);

  // y may be x. gamma is null for ones, beta for zeros.
  void Forward(const void* x, const float* gamma, const float* beta, void* y) const;
  // dx = gamma * dy, dgamma = sum of dy * x, dbeta = sum of dy. Unneeded results are null; dx may
  // be dy. The sums do not depend on the number of threads.
  void Backward(const void* x, const void* dy, const float* gamma, void* dx, void* dgamma,
                void* dbeta) const;

 private:
  // A value per lane; `fallback` where `values` is null, 0 in the padding.
  std::vector<float> Padded(const float* values, float fallback) const;

  const DType type_;
  const ScaleFunctions& functions_;
  ChannelView view_;
};

}  // namespace gf
