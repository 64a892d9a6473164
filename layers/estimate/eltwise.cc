#include "layers/eltwise.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class EltwiseEstimate : public EstimateKernel {
 public:
  EltwiseEstimate(const EltwiseLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelPlan* plan) override {
    constexpr size_t kMost = 32;
    if (plan->bottoms.size() > kMost) {
      layer_.Fail("has ", plan->bottoms.size(), " bottoms, expected at most ", kMost, " on a GPU");
    }
    for (TensorDesc& bottom : plan->bottoms) bottom.layout = plan->bottoms[0].layout;
    plan->tops[0].layout = plan->bottoms[0].layout;
    plan->needs_bottom.assign(plan->bottoms.size(), plan->backward && product());
    plan->needs_top[0] = plan->backward && layer_.relu();
    if (plan->backward && layer_.operation() == EltwiseParameter::MAX) {
      plan->saved_bytes = plan->tops[0].storage_count();  // which bottom was the largest
    }
    plan->in_place = !plan->needs_bottom[0];
    plan->in_place_backward = true;
    plan->max_top_diffs = 4;
  }

  void ForwardCost(const KernelArgs& args) override {
    Move(OperationKind::kEltwise, (Bottoms() + 1) * Top() + Saved());
  }

  void BackwardCost(const KernelArgs& args) override {
    auto tensors = static_cast<int64_t>(args.top_diffs[0].size()) + layer_.relu();
    for (void* diff : args.bottom_diffs) tensors += diff != nullptr;
    if (product()) tensors += Bottoms();
    Move(OperationKind::kEltwise, tensors * Top() + Saved());
  }

 private:
  bool product() const { return layer_.operation() == EltwiseParameter::PROD; }
  int64_t Bottoms() const { return static_cast<int64_t>(plan().bottoms.size()); }

  const EltwiseLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Eltwise", KernelOf<EltwiseLayer, EltwiseEstimate>);

}  // namespace
}  // namespace gf
