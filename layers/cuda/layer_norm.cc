#include "layers/layer_norm.h"

#include <memory>

#include "layers/cuda/kernel_context.h"
#include "layers/cuda/layer_norm_kernels.h"

namespace gf {
namespace {

class LayerNormKernel : public RepeatingKernel {
 public:
  LayerNormKernel(const LayerNormLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Setup(KernelSetup* setup) override {
    TensorDesc& bottom = setup->bottoms[0];
    bottom.layout = layer_.over_channels() ? WantedLayout(bottom.shape) : Layout();
    const LayerNormView view = layer_.View(!bottom.layout.plain());
    CheckRowSize(layer_, view.channels);
    rows_ = {context_.compute, view.outer, static_cast<int>(view.channels), view.inner};
    setup->tops[0].layout = bottom.layout;
    for (TensorDesc& parameter : setup->parameters) parameter.layout = Layout();
    setup->in_place = !setup->backward;
    if (!setup->backward) return;
    setup->needs_bottom[0] = true;
    setup->in_place_backward = true;
    setup->saved_bytes = 2 * view.rows() * sizeof(float);  // mean and inverse_std
    if (!layer_.affine() || view.inner != 1) return;
    const ColumnsView columns = {rows_.rows(), rows_.channels};
    setup->backward_scratch_bytes = ColumnSumsBytes(columns, context_.compute, 2);
    arrived_ = CudaOf(context_)->Allocate(ColumnCountersBytes(columns, context_.compute));
  }

  void Forward(const KernelArgs& args) override {
    const bool affine = layer_.affine();
    auto* const mean = static_cast<float*>(args.saved);
    LayerNorm(rows_, layer_.eps(), args.bottoms[0], affine ? args.master[0] : nullptr,
              affine ? args.master[1] : nullptr, args.tops[0], mean,
              mean == nullptr ? nullptr : mean + rows_.rows(), StreamOf(context_));
  }

  // The gradient of the bottom comes last, as it may overwrite that of the top.
  void Backward(const KernelArgs& args) override {
    const void *const x = args.bottoms[0], *const dy = args.top_diffs[0][0];
    const auto* const mean = static_cast<const float*>(args.saved);
    const float* const inverse_std = mean + rows_.rows();
    if (layer_.affine()) {
      LayerNormSums(rows_, x, dy, mean, inverse_std, args.parameter_diffs[0],
                    args.parameter_diffs[1], {args.scratch, arrived_.get()}, StreamOf(context_));
    }
    if (args.bottom_diffs[0] == nullptr) return;
    LayerNormGradient(rows_, x, dy, layer_.affine() ? args.master[0] : nullptr, mean, inverse_std,
                      args.bottom_diffs[0], StreamOf(context_));
  }

 private:
  const LayerNormLayer& layer_;
  const KernelContext context_;
  LayerNormRows rows_;
  std::shared_ptr<void> arrived_;  // of ColumnSumsMemory
};

GF_REGISTER(KernelRegistry, "cuda/LayerNorm", KernelOf<LayerNormLayer, LayerNormKernel>);

}  // namespace
}  // namespace gf
