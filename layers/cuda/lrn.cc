#include "layers/lrn.h"

#include "layers/cuda/kernel_context.h"
#include "layers/cuda/lrn_kernels.h"

namespace gf {
namespace {

class LrnKernel : public RepeatingKernel {
 public:
  LrnKernel(const LrnLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Setup(KernelSetup* setup) override {
    const Shape& shape = setup->bottoms[0].shape;
    if (layer_.within_channel()) CheckImageSize(layer_, shape);
    setup->bottoms[0].layout = setup->tops[0].layout = WantedLayout(shape);
    images_.n = shape[0];
    images_.channels = static_cast<int>(shape[1]);
    images_.height = static_cast<int>(shape[2]);
    images_.width = static_cast<int>(shape[3]);
    images_.size = static_cast<int>(layer_.size());
    images_.within_channel = layer_.within_channel();
    const int64_t window = images_.within_channel ? layer_.size() * layer_.size() : layer_.size();
    images_.alpha = layer_.alpha() / static_cast<float>(window);
    images_.beta = layer_.beta();
    images_.k = images_.within_channel ? 1 : layer_.k();
    if (!setup->backward) return;
    setup->saved_bytes = shape.count() * sizeof(float);  // scale
    setup->needs_bottom[0] = true;
  }

  void Forward(const KernelArgs& args) override {
    Lrn(images_, context_.compute, args.bottoms[0], args.tops[0], static_cast<float*>(args.saved),
        StreamOf(context_));
  }

  void Backward(const KernelArgs& args) override {
    LrnGradient(images_, context_.compute, args.bottoms[0], args.top_diffs[0][0],
                static_cast<const float*>(args.saved), args.bottom_diffs[0], StreamOf(context_));
  }

 private:
  const LrnLayer& layer_;
  const KernelContext context_;
  LrnImages images_;
};

GF_REGISTER(KernelRegistry, "cuda/LRN", KernelOf<LrnLayer, LrnKernel>);

}  // namespace
}  // namespace gf
