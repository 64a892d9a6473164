#include "layers/lrn.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class LrnEstimate : public EstimateKernel {
 public:
  LrnEstimate(const LrnLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context) {}

 protected:
  void Agree(KernelPlan* plan) override {
    const Shape& shape = plan->bottoms[0].shape;
    plan->bottoms[0].layout = plan->tops[0].layout = WantedLayout(shape);
    if (!plan->backward) return;
    plan->saved_bytes = shape.count() * sizeof(float);  // the scale of every element
    plan->needs_bottom[0] = true;
  }
  // Overlaps of windows are served by the caches: each element is read from memory once.
  void ForwardCost(const KernelArgs& args) override {
    Move(OperationKind::kOther, Bottom() + Top() + Saved());
  }
  void BackwardCost(const KernelArgs& args) override {
    Move(OperationKind::kOther, 2 * Bottom() + Top() + Saved());
  }
};

GF_REGISTER(KernelRegistry, "cuda_estimate/LRN", KernelOf<LrnLayer, LrnEstimate>);

}  // namespace
}  // namespace gf
