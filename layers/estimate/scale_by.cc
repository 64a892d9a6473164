#include "layers/scale_by.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class ScaleByEstimate : public EstimateKernel {
 public:
  ScaleByEstimate(const ScaleByLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelSetup* setup) override {
    TensorDesc& x = setup->bottoms[layer_.x()];
    if (layer_.begin() != 0 || layer_.end() != 2) x.layout = Layout();
    SetUpScaleBy(layer_, setup);
  }
  void ForwardCost(const KernelArgs& args) override {
    int64_t bytes = Top();
    for (size_t i = 0; i < setup().bottoms.size(); ++i) bytes += Bottom(static_cast<int>(i));
    Move(OperationKind::kEltwise, bytes);
  }
  // First the sums, then the gradients of the other bottoms.
  void BackwardCost(const KernelArgs& args) override {
    const int64_t factor = Bottom(layer_.factor());
    if (args.bottom_diffs[layer_.factor()] != nullptr) {
      Move(OperationKind::kEltwise, (layer_.adds() ? 0 : Bottom(layer_.x())) + Top() + factor);
    }
    const void* const dx = args.bottom_diffs[layer_.x()];
    if (dx != nullptr && layer_.adds()) {
      Copy(OperationKind::kOther, args.top_diffs[0][0], dx, Top());
    } else if (dx != nullptr) {
      Move(OperationKind::kEltwise, Top() + factor + Bottom(layer_.x()));
    }
    if (layer_.addend() >= 0 && args.bottom_diffs[layer_.addend()] != nullptr) {
      Copy(OperationKind::kOther, args.top_diffs[0][0], args.bottom_diffs[layer_.addend()], Top());
    }
  }

 private:
  const ScaleByLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Axpy", KernelOf<ScaleByLayer, ScaleByEstimate>);
GF_REGISTER(KernelRegistry, "cuda_estimate/BiasBy", KernelOf<ScaleByLayer, ScaleByEstimate>);
GF_REGISTER(KernelRegistry, "cuda_estimate/ScaleBy", KernelOf<ScaleByLayer, ScaleByEstimate>);

}  // namespace
}  // namespace gf
