#include "layers/convolution.h"

#include <glog/logging.h>

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class ConvolutionEstimate : public EstimateKernel {
 public:
  ConvolutionEstimate(const ConvolutionLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelPlan* plan) override {
    plan->bottoms[0].layout = WantedLayout(plan->bottoms[0].shape);
    plan->tops[0].layout = WantedLayout(plan->tops[0].shape);
    const Layout filters = FilterLayout(plan->parameters[0].shape);
    CHECK(!plan->parameters_fixed || plan->parameters[0].layout == filters) << layer_.name();
    plan->parameters[0].layout = filters;
    if (!plan->backward) return;
    plan->needs_bottom[0] = true;
    plan->needs_top[0] = layer_.relu_backward();
  }

  // Every pass multiplies each output with each of its taps once; it reads two of images, filters
  // and results and writes the third. The product includes bias and ReLU.
  void ForwardCost(const KernelArgs& args) override {
    Multiply(OperationKind::kConvolutionForward, Moved(), layer_.ForwardFlops());
  }
  void BackwardCost(const KernelArgs& args) override {
    BiasGradient(Top(), layer_.bias(), layer_.relu_backward());
    Multiply(OperationKind::kConvolutionWeights, Moved(), layer_.ForwardFlops());
    if (args.bottom_diffs[0] == nullptr) return;
    Multiply(OperationKind::kConvolutionData, Moved(), layer_.ForwardFlops());
  }

 private:
  int64_t Moved() const { return Bottom() + Top() + Parameter(0); }

  const ConvolutionLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Convolution",
            KernelOf<ConvolutionLayer, ConvolutionEstimate>);

}  // namespace
}  // namespace gf
