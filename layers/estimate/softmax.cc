// Softmax, its loss, and Accuracy. A row of scores stays in the caches, so it is read from memory
// once.

#include "layers/softmax.h"

#include "layers/accuracy.h"
#include "layers/estimate/kernel.h"
#include "layers/softmax_with_loss.h"

namespace gf {
namespace {

class SoftmaxEstimate : public EstimateKernel {
 public:
  SoftmaxEstimate(const SoftmaxLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context) {}

 protected:
  void Agree(KernelPlan* plan) override {
    plan->bottoms[0].layout = plan->tops[0].layout = Layout();
    plan->needs_top[0] = plan->backward;
    plan->in_place = plan->in_place_backward = true;
  }
  void ForwardCost(const KernelArgs& args) override {
    Move(OperationKind::kOther, Bottom() + Top());
  }
  void BackwardCost(const KernelArgs& args) override {
    Move(OperationKind::kOther, Bottom() + 2 * Top());
  }
};

class SoftmaxWithLossEstimate : public EstimateKernel {
 public:
  SoftmaxWithLossEstimate(const SoftmaxWithLossLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelPlan* plan) override {
    for (TensorDesc& bottom : plan->bottoms) bottom.layout = Layout();
    for (TensorDesc& top : plan->tops) top.layout = Layout();
    const bool backward = plan->backward && plan->propagate[0];
    plan->needs_bottom[1] = backward;
    if (backward) plan->saved_bytes = plan->bottoms[0].shape.count() * sizeof(float);
    plan->forward_scratch_bytes = layer_.view().predictions() * sizeof(float);
  }
  // Losses and probabilities, then the sum of the losses.
  void ForwardCost(const KernelArgs& args) override {
    const bool probabilities = plan().tops.size() > 1;
    Move(OperationKind::kLoss, Bottom(0) + Bottom(1) + Saved() + (probabilities ? Top(1) : 0), 2);
  }
  void BackwardCost(const KernelArgs& args) override {
    Move(OperationKind::kLoss, Bottom(0) + Bottom(1) + Saved());
  }

 private:
  const SoftmaxWithLossLayer& layer_;
};

class AccuracyEstimate : public EstimateKernel {
 public:
  AccuracyEstimate(const AccuracyLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelPlan* plan) override {
    for (TensorDesc& bottom : plan->bottoms) bottom.layout = Layout();
    plan->forward_scratch_bytes = 2 * layer_.view().classes * sizeof(int);
  }
  // The counts per class are cleared, incremented and divided.
  void ForwardCost(const KernelArgs& args) override {
    Move(OperationKind::kLoss, Bottom(0) + Bottom(1), 3);
  }

 private:
  const AccuracyLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Softmax", KernelOf<SoftmaxLayer, SoftmaxEstimate>);
GF_REGISTER(KernelRegistry, "cuda_estimate/SoftmaxWithLoss",
            KernelOf<SoftmaxWithLossLayer, SoftmaxWithLossEstimate>);
GF_REGISTER(KernelRegistry, "cuda_estimate/Accuracy", KernelOf<AccuracyLayer, AccuracyEstimate>);

}  // namespace
}  // namespace gf
