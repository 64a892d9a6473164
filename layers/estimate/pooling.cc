#include "layers/pooling.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class PoolingEstimate : public EstimateKernel {
 public:
  PoolingEstimate(const PoolingLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelPlan* plan) override {
    const Shape& top = plan->tops[0].shape;
    plan->bottoms[0].layout = WantedLayout(plan->bottoms[0].shape);
    plan->tops[0].layout = WantedLayout(top);
    const int64_t taps = layer_.window().kernel[0] * layer_.window().kernel[1];
    if (taps > 65536) layer_.Fail("kernel_size is larger than 256 x 256");
    if (!plan->backward || !layer_.max()) return;
    plan->saved_bytes = top.count() * (taps <= 256 ? 1 : 2);  // the largest tap of each window
    plan->needs_top[0] = layer_.relu_backward();
  }
  // Overlaps of windows are served by the caches: each element is read from memory once.
  void ForwardCost(const KernelArgs& args) override {
    Move(OperationKind::kPooling, Bottom() + Top() + Saved());
  }
  void BackwardCost(const KernelArgs& args) override {
    if (args.bottom_diffs[0] == nullptr) return;
    const bool reads_top = layer_.max() && layer_.relu_backward();
    Move(OperationKind::kPooling, Bottom() + Top() + Saved() + (reads_top ? Top() : 0));
  }

 private:
  const PoolingLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Pooling", KernelOf<PoolingLayer, PoolingEstimate>);

}  // namespace
}  // namespace gf
