#pragma once

#include <cstdint>

#include "layers/cpu/softmax_kernels.h"
#include "layers/kernel.h"
#include "layers/softmax_with_loss.h"

namespace gf {

// What SoftmaxWithLoss and the losses derived from it share: everything but the loss of a
// prediction.
class SoftmaxLossKernel : public Kernel {
 public:
  SoftmaxLossKernel(const SoftmaxWithLossLayer& layer, const KernelContext& context);
  void Setup(KernelSetup* setup) override;
  void Forward(const KernelArgs& args) override;
  void Backward(const KernelArgs& args) override;

 protected:
  // The loss of softmax j of a span with the scores x, whose label is in range.
  virtual float Loss(const SoftmaxSpan& span, const SoftmaxSums& sums, int j, const void* x,
                     int64_t label) const = 0;
  // dx = factor[j] * gradient of the loss, where p are the probabilities of the span. Where
  // factor[j] is 0 dx is 0, and labels[j] may be out of range.
  virtual void Gradient(const SoftmaxSpan& span, const float* p, const int64_t* labels,
                        const float* factor, void* dx) const = 0;

  DType type() const { return type_; }
  const SoftmaxFunctions& functions() const { return functions_; }

 private:
  const SoftmaxWithLossLayer& layer_;
  const DType type_;
  const SoftmaxFunctions& functions_;
  bool backward_ = false;
  double normalizer_ = 1;
};

}  // namespace gf
