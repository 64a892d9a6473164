// Layers that only move numbers: Flatten, Reshape, Split, Silence, and the layers that the net
// inserts.

#include "layers/copies.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

constexpr size_t kMostAdded = 32;  // tensors that one launch adds up

// Number of launches that add up `tensors` tensors; the sum of one launch is an operand of the
// next.
int LaunchesToAdd(size_t tensors) {
  int launches = 1;
  for (size_t added = kMostAdded; added < tensors; added += kMostAdded - 1) ++launches;
  return launches;
}

class ReshapeEstimate : public EstimateKernel {
 public:
  ReshapeEstimate(const Layer& layer, const KernelContext& context)
      : EstimateKernel(layer, context) {}

 protected:
  void Agree(KernelPlan* plan) override {
    plan->bottoms[0].layout = plan->tops[0].layout = Layout();
    plan->in_place = plan->in_place_backward = true;
  }
  void ForwardCost(const KernelArgs& args) override {
    Copy(OperationKind::kOther, args.bottoms[0], args.tops[0], Bottom());
  }
  void BackwardCost(const KernelArgs& args) override {
    Copy(OperationKind::kOther, args.top_diffs[0][0], args.bottom_diffs[0], Bottom());
  }
};

class SplitEstimate : public EstimateKernel {
 public:
  SplitEstimate(const SplitLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context) {}

 protected:
  void Agree(KernelPlan* plan) override {
    for (TensorDesc& top : plan->tops) top.layout = plan->bottoms[0].layout;
    plan->in_place = plan->in_place_backward = true;
  }
  void ForwardCost(const KernelArgs& args) override {
    for (void* top : args.tops) Copy(OperationKind::kOther, args.bottoms[0], top, Bottom());
  }
  void BackwardCost(const KernelArgs& args) override {
    size_t diffs = 0;
    for (const auto& top : args.top_diffs) diffs += top.size();
    // Without any gradient, the result is filled with zeros.
    Move(OperationKind::kEltwise, static_cast<int64_t>(diffs + 1) * Bottom(), LaunchesToAdd(diffs));
  }
};

class SilenceEstimate : public EstimateKernel {
 public:
  SilenceEstimate(const SilenceLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context) {}

 protected:
  void Agree(KernelPlan*) override {}
  void ForwardCost(const KernelArgs&) override {}
};

// tops[0] = bottoms[0] in another layout. The net sets both layouts.
class ReorderEstimate : public EstimateKernel {
 public:
  ReorderEstimate(const Layer& layer, const KernelContext& context)
      : EstimateKernel(layer, context) {}

 protected:
  void Agree(KernelPlan*) override {}
  void ForwardCost(const KernelArgs&) override { Move(OperationKind::kOther, Bottom() + Top()); }
  void BackwardCost(const KernelArgs& args) override {
    if (args.bottom_diffs[0] != nullptr) Move(OperationKind::kOther, Bottom() + Top());
  }
};

class GradientSumEstimate : public EstimateKernel {
 public:
  GradientSumEstimate(const Layer& layer, const KernelContext& context)
      : EstimateKernel(layer, context) {}

 protected:
  void Agree(KernelPlan* plan) override { plan->tops[0].layout = plan->bottoms[0].layout; }
  void ForwardCost(const KernelArgs& args) override {
    const size_t tensors = args.bottoms.size();
    Move(OperationKind::kEltwise, static_cast<int64_t>(tensors + 1) * Top(),
         LaunchesToAdd(tensors));
  }
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Flatten", KernelOf<FlattenLayer, ReshapeEstimate>);
GF_REGISTER(KernelRegistry, "cuda_estimate/Reshape", KernelOf<ReshapeLayer, ReshapeEstimate>);
GF_REGISTER(KernelRegistry, "cuda_estimate/Split", KernelOf<SplitLayer, SplitEstimate>);
GF_REGISTER(KernelRegistry, "cuda_estimate/Silence", KernelOf<SilenceLayer, SilenceEstimate>);
GF_REGISTER(KernelRegistry, "cuda_estimate/_Reorder", KernelOf<Layer, ReorderEstimate>);
GF_REGISTER(KernelRegistry, "cuda_estimate/_GradientSum", KernelOf<Layer, GradientSumEstimate>);

}  // namespace
}  // namespace gf
