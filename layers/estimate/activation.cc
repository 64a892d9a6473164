// ReLU, Sigmoid and TanH.

#include "layers/activation.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class ActivationEstimate : public EstimateKernel {
 public:
  // `from_top`: whether the gradient depends on the top rather than on the bottom.
  ActivationEstimate(const Layer& layer, const KernelContext& context, bool from_top = true)
      : EstimateKernel(layer, context), from_top_(from_top) {}

 protected:
  void Agree(KernelSetup* setup) override { SetUpActivation(from_top_, setup); }
  void ForwardCost(const KernelArgs& args) override {
    Move(OperationKind::kEltwise, Bottom() + Top());
  }
  void BackwardCost(const KernelArgs& args) override {
    Move(OperationKind::kEltwise, 2 * Top() + Bottom());
  }

 private:
  const bool from_top_;
};

class ReluEstimate : public ActivationEstimate {
 public:
  ReluEstimate(const ReluLayer& layer, const KernelContext& context)
      : ActivationEstimate(layer, context, layer.gradient_from_top()) {}
};

GF_REGISTER(KernelRegistry, "cuda_estimate/ReLU", KernelOf<ReluLayer, ReluEstimate>);
GF_REGISTER(KernelRegistry, "cuda_estimate/Sigmoid", KernelOf<SigmoidLayer, ActivationEstimate>);
GF_REGISTER(KernelRegistry, "cuda_estimate/TanH", KernelOf<TanhLayer, ActivationEstimate>);

}  // namespace
}  // namespace gf
