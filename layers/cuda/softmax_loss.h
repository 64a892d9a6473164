#pragma once

#include <cstdint>
#include <memory>

#include "layers/cuda/softmax_kernels.h"
#include "layers/kernel.h"
#include "layers/softmax_with_loss.h"

namespace gf {

// Where CudaSoftmaxLossKernel::Losses writes.
struct SoftmaxLossResults {
  float* losses = nullptr;        // scratch memory, one number per prediction
  float* loss = nullptr;          // their sum / normalizer
  void* probabilities = nullptr;  // in the compute type, with the shape of the scores; may be null
  float* saved = nullptr;         // the same in FP32
};

// What SoftmaxWithLoss and the losses derived from it share: everything but the arithmetic.
class CudaSoftmaxLossKernel : public Kernel {
 public:
  CudaSoftmaxLossKernel(const SoftmaxWithLossLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}
  void Setup(KernelSetup* setup) override;
  void Forward(const KernelArgs& args) override;
  void Backward(const KernelArgs& args) override;

 protected:
  virtual void Losses(const SoftmaxLoss& call, const void* x, double normalizer,
                      const SoftmaxLossResults& results) = 0;
  // dx = scale * gradient of the sum of the losses; `saved`: from Losses.
  virtual void Gradient(const SoftmaxLoss& call, const float* saved, float scale, void* dx) = 0;

  const KernelContext& context() const { return context_; }

 private:
  SoftmaxLoss Call(const KernelArgs& args) const;

  const SoftmaxWithLossLayer& layer_;
  const KernelContext context_;
  std::shared_ptr<void> class_weights_;  // FP32, on the GPU; null: none
  bool backward_ = false;
  // Of the last Forward: the divisor, and the weight of own labels.
  double normalizer_ = 1;
  float share_ = 1;
};

}  // namespace gf
