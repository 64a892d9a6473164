#include "layers/softmax_with_loss.h"

#include "layers/cuda/kernel_context.h"
#include "layers/cuda/softmax_loss.h"

namespace gf {
namespace {

class SoftmaxWithLossKernel : public CudaSoftmaxLossKernel {
 public:
  using CudaSoftmaxLossKernel::CudaSoftmaxLossKernel;

 protected:
  void Losses(const SoftmaxLoss& call, const void* x, double normalizer,
              const SoftmaxLossResults& results) override {
    SoftmaxLossForward(call, x, normalizer, results.losses, results.loss, results.probabilities,
                       results.saved, StreamOf(context()));
  }
  void Gradient(const SoftmaxLoss& call, const float* saved, float scale, void* dx) override {
    SoftmaxLossGradient(call, saved, scale, dx, StreamOf(context()));
  }
};

GF_REGISTER(KernelRegistry, "cuda/SoftmaxWithLoss",
            KernelOf<SoftmaxWithLossLayer, SoftmaxWithLossKernel>);

}  // namespace
}  // namespace gf
