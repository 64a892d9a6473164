#include "layers/input.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class InputEstimate : public EstimateKernel {
 public:
  InputEstimate(const InputLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelPlan* plan) override {
    for (size_t i = 0; i < plan->tops.size(); ++i) {
      if (IsImage(i)) plan->tops[i].layout = WantedLayout(plan->tops[i].shape);
    }
  }

  // One copy from the host writes pixels and labels. One kernel per image top reads the pixels from
  // there; a copy moves the labels.
  void ForwardCost(const KernelArgs& args) override {
    const auto pixels = static_cast<int64_t>(args.batch->images.desc.bytes());
    int64_t sent = 0;
    for (size_t i = 0; i < plan().tops.size(); ++i) sent += IsImage(i) ? pixels : Top(i);
    Move(OperationKind::kInput, sent);
    for (size_t i = 0; i < plan().tops.size(); ++i) {
      Move(OperationKind::kInput, (IsImage(i) ? pixels : Top(i)) + Top(i));
    }
  }

 private:
  bool IsImage(size_t top) const { return layer_.IsImage(static_cast<int>(top)); }

  const InputLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Input", KernelOf<InputLayer, InputEstimate>);

}  // namespace
}  // namespace gf
