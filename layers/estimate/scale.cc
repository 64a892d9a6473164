#include "layers/scale.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class ScaleEstimate : public EstimateKernel {
 public:
  ScaleEstimate(const ScaleLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelPlan* plan) override {
    TensorDesc& bottom = plan->bottoms[0];
    if (layer_.begin() != 1 || layer_.end() != 2) bottom.layout = Layout();
    plan->tops[0].layout = bottom.layout;
    for (TensorDesc& parameter : plan->parameters) parameter.layout = Layout();
    plan->needs_bottom[0] = plan->backward;
    plan->in_place = !plan->backward;
    plan->in_place_backward = true;
  }
  void ForwardCost(const KernelArgs& args) override {
    Move(OperationKind::kEltwise, Bottom() + Top());
  }
  // First the sums, then the gradient of the bottom.
  void BackwardCost(const KernelArgs& args) override {
    Move(OperationKind::kEltwise, Bottom() + Top());
    if (args.bottom_diffs[0] != nullptr) Move(OperationKind::kEltwise, Bottom() + Top());
  }

 private:
  const ScaleLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Scale", KernelOf<ScaleLayer, ScaleEstimate>);

}  // namespace
}  // namespace gf
