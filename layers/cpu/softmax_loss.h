#pragma once

#include <cstdint>

#include "layers/cpu/softmax_kernels.h"
#include "layers/kernel.h"
#include "layers/softmax_with_loss.h"

namespace gf {

// What SoftmaxWithLoss and the losses derived from it share: everything but the loss of a
// prediction.
//
// With mixed labels (LabelShare), a prediction's loss is share * (loss with its own label) +
// (1 - share) * (loss with the other image's label). An ignored label has the loss 0.
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
  // Labels of a span's softmaxes, and a factor for each. Where it is 0, the label may be out of
  // range.
  struct Weighted {
    const int64_t* labels;
    float factor[kSoftmaxWidth];
  };
  // dx = factor[j] * gradient of the loss, where p are the probabilities of the span.
  virtual void Gradient(const SoftmaxSpan& span, const float* p, const Weighted& own,
                        void* dx) const = 0;
  // The sum of both gradients, for mixed labels. Only SoftmaxWithLoss has it.
  virtual void MixedGradient(const SoftmaxSpan& span, const float* p, const Weighted& own,
                             const Weighted& other, void* dx) const;

  DType type() const { return type_; }
  const SoftmaxFunctions& functions() const { return functions_; }

 private:
  const SoftmaxWithLossLayer& layer_;
  const DType type_;
  const SoftmaxFunctions& functions_;
  bool backward_ = false;
  // Of the last Forward: the divisor, and the weight of own labels.
  double normalizer_ = 1;
  float share_ = 1;
};

}  // namespace gf
