#include "layers/inner_product.h"

#include <glog/logging.h>

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class InnerProductEstimate : public EstimateKernel {
 public:
  InnerProductEstimate(const InnerProductLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelPlan* plan) override {
    TensorDesc& bottom = plan->bottoms[0];
    TensorDesc& weights = plan->parameters[0];
    const ChannelsLast* image = AsChannelsLast(bottom.layout);
    Layout wanted;
    if (image != nullptr && image->outer() == layer_.rows()) {
      wanted = FilterLayout(layer_.outputs(), image->channels(), image->spatial());
    }
    if (!plan->parameters_fixed) weights.layout = wanted;
    if (wanted.plain() || weights.layout != wanted) {
      CHECK(weights.layout.plain()) << layer_.name() << ": " << weights.layout.Name();
      bottom.layout = Layout();
    }
    if (!plan->backward) return;
    plan->needs_bottom[0] = true;
    plan->needs_top[0] = layer_.relu();
  }

  // The product includes bias and ReLU.
  void ForwardCost(const KernelArgs& args) override { Product(); }
  void BackwardCost(const KernelArgs& args) override {
    BiasGradient(Top(), layer_.bias(), layer_.relu());
    Product();
    if (args.bottom_diffs[0] != nullptr) Product();
  }

 private:
  void Product() const {
    Multiply(OperationKind::kMatmul, Bottom() + Top() + Parameter(0), layer_.ForwardFlops());
  }

  const InnerProductLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/InnerProduct",
            KernelOf<InnerProductLayer, InnerProductEstimate>);

}  // namespace
}  // namespace gf
