#include "layers/scale_by.h"

#include "layers/cuda/kernel_context.h"
#include "layers/cuda/scale_by_kernels.h"

namespace gf {
namespace {

class ScaleByKernel : public RepeatingKernel {
 public:
  ScaleByKernel(const ScaleByLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Setup(KernelSetup* setup) override {
    TensorDesc& x = setup->bottoms[layer_.x()];
    const Shape& shape = x.shape;
    const bool planes = layer_.begin() == 0 && layer_.end() == 2;
    if (!planes) x.layout = Layout();
    view_ = {shape.count(0, layer_.begin()), shape.count(layer_.begin(), layer_.end()),
             shape.count(layer_.end(), shape.rank())};
    if (!x.layout.plain()) view_ = {shape[0], shape[1], view_.inner, true};
    view_.adds = layer_.adds();
    CheckRowSize(layer_, view_.units * view_.inner);
    SetUpScaleBy(layer_, setup);
    bytes_ = x.bytes();
  }

  void Forward(const KernelArgs& args) override {
    ScaleByForward(view_, context_.compute, args.bottoms[layer_.x()], args.bottoms[layer_.factor()],
                   layer_.addend() < 0 ? nullptr : args.bottoms[layer_.addend()], args.tops[0],
                   StreamOf(context_));
  }

  void Backward(const KernelArgs& args) override {
    const void* const dy = args.top_diffs[0][0];
    if (void* const dfactor = args.bottom_diffs[layer_.factor()]; dfactor != nullptr) {
      ScaleByFactorGradient(view_, context_.compute, args.bottoms[layer_.x()], dy, dfactor,
                            StreamOf(context_));
    }
    void* const dx = args.bottom_diffs[layer_.x()];
    if (dx != nullptr && layer_.adds()) {
      CopyOnDevice(context_, dy, dx, bytes_);
    } else if (dx != nullptr) {
      ScaleByForward(view_, context_.compute, dy, args.bottoms[layer_.factor()], nullptr, dx,
                     StreamOf(context_));
    }
    if (layer_.addend() < 0 || args.bottom_diffs[layer_.addend()] == nullptr) return;
    CopyOnDevice(context_, dy, args.bottom_diffs[layer_.addend()], bytes_);
  }

 private:
  const ScaleByLayer& layer_;
  const KernelContext context_;
  ScaleByView view_;
  size_t bytes_ = 0;
};

GF_REGISTER(KernelRegistry, "cuda/Axpy", KernelOf<ScaleByLayer, ScaleByKernel>);
GF_REGISTER(KernelRegistry, "cuda/BiasBy", KernelOf<ScaleByLayer, ScaleByKernel>);
GF_REGISTER(KernelRegistry, "cuda/ScaleBy", KernelOf<ScaleByLayer, ScaleByKernel>);

}  // namespace
}  // namespace gf
