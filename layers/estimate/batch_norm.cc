#include "layers/batch_norm.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class BatchNormEstimate : public EstimateKernel {
 public:
  BatchNormEstimate(const BatchNormLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

  bool CanRecompute() const override { return !layer_.add(); }

 protected:
  void Agree(KernelPlan* plan) override {
    const Shape& shape = plan->bottoms[0].shape;
    for (TensorDesc& bottom : plan->bottoms) bottom.layout = WantedLayout(shape);
    plan->tops[0].layout = WantedLayout(shape);
    if (!plan->backward) {
      plan->in_place = true;
      return;
    }
    constexpr size_t kSavedRows = 4;
    plan->saved_bytes = kSavedRows * ((shape[1] * sizeof(float) + 63) / 64 * 64);
    plan->needs_bottom[0] = true;
    plan->needs_top[0] = layer_.relu() && layer_.add();
    plan->in_place_backward = true;
    if (layer_.add() && plan->propagate[1]) {
      plan->in_place_backward_bottom = 1;
      plan->gradient_over_bottom = true;
    }
    plan->max_top_diffs = 2;
  }

  void ForwardCost(const KernelArgs& args) override {
    if (layer_.global_statistics()) {
      Move(OperationKind::kBatchNormStatistics, 0);
    } else {
      Move(OperationKind::kBatchNormStatistics, Bottom());
    }
    Normalize();
  }

  void BackwardCost(const KernelArgs& args) override {
    const bool two = args.top_diffs[0].size() > 1;
    const bool relu_from_top = layer_.relu() && layer_.add();
    // The gradient before the ReLU and the addition is stored if the residual needs it or if it
    // differs from the gradient of the top.
    const bool keeps = (layer_.add() && args.bottom_diffs[1] != nullptr) || two || relu_from_top;
    const int tensors = 2 + two + relu_from_top + keeps;  // x, dy, dy2, y, dz
    Move(OperationKind::kBatchNormSums, tensors * Top());
    if (args.bottom_diffs[0] == nullptr) return;
    Move(OperationKind::kBatchNormGradient, 3 * Top());  // x, dz, dx
  }

  void RecomputeCost() override { Normalize(); }

 private:
  void Normalize() const {
    Move(OperationKind::kBatchNormApply, Bottom() + Top() + (layer_.add() ? Bottom(1) : 0));
  }

  const BatchNormLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/BatchNorm", KernelOf<BatchNormLayer, BatchNormEstimate>);

}  // namespace
}  // namespace gf
