#include "layers/scale.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class ScaleEstimate : public EstimateKernel {
 public:
  ScaleEstimate(const ScaleLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelSetup* setup) override {
    TensorDesc& bottom = setup->bottoms[0];
    if (layer_.begin() != 1 || layer_.end() != 2) bottom.layout = Layout();
    SetUpScale(layer_, setup);
  }
  void ForwardCost(const KernelArgs& args) override {
    Move(OperationKind::kEltwise, Bottom() + Top());
  }
  // First the sums, then the gradient of the bottom, which without gamma is that of the top.
  void BackwardCost(const KernelArgs& args) override {
    const bool has_gamma = layer_.gamma() >= 0;
    Move(OperationKind::kEltwise, (has_gamma ? Bottom() : 0) + Top());
    const void* const dx = args.bottom_diffs[0];
    if (dx == nullptr || (!has_gamma && dx == args.top_diffs[0][0])) return;
    Move(OperationKind::kEltwise, (layer_.negative_only() ? 2 : 1) * Bottom() + Top());
  }

 private:
  const ScaleLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Bias", KernelOf<ScaleLayer, ScaleEstimate>);
GF_REGISTER(KernelRegistry, "cuda_estimate/PReLU", KernelOf<ScaleLayer, ScaleEstimate>);
GF_REGISTER(KernelRegistry, "cuda_estimate/Scale", KernelOf<ScaleLayer, ScaleEstimate>);

}  // namespace
}  // namespace gf
