#include "layers/layer_norm.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class LayerNormEstimate : public EstimateKernel {
 public:
  LayerNormEstimate(const LayerNormLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelSetup* setup) override {
    TensorDesc& bottom = setup->bottoms[0];
    bottom.layout = layer_.over_channels() ? WantedLayout(bottom.shape) : Layout();
    setup->tops[0].layout = bottom.layout;
    for (TensorDesc& parameter : setup->parameters) parameter.layout = Layout();
    setup->in_place = !setup->backward;
    if (!setup->backward) return;
    setup->needs_bottom[0] = true;
    setup->in_place_backward = true;
    const LayerNormView view = layer_.View(!bottom.layout.plain());
    setup->saved_bytes = 2 * view.rows() * sizeof(float);  // mean and inverse_std
  }
  // A row stays in the caches until it is normalized.
  void ForwardCost(const KernelArgs&) override {
    Move(OperationKind::kOther, Bottom() + Top() + Saved());
  }
  // First the sums over the rows, then the gradient of the bottom.
  void BackwardCost(const KernelArgs& args) override {
    if (layer_.affine()) Move(OperationKind::kOther, Bottom() + Top() + Saved());
    if (args.bottom_diffs[0] == nullptr) return;
    Move(OperationKind::kOther, 2 * Bottom() + Top() + Saved());
  }

 private:
  const LayerNormLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/LayerNorm", KernelOf<LayerNormLayer, LayerNormEstimate>);

}  // namespace
}  // namespace gf
