#include "layers/pooling.h"

#include "layers/cuda/kernel_context.h"
#include "layers/cuda/pooling_images.h"
#include "layers/cuda/pooling_kernels.h"

namespace gf {
namespace {

class PoolingKernel : public RepeatingKernel {
 public:
  PoolingKernel(const PoolingLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Setup(KernelSetup* setup) override {
    const Shape& bottom = setup->bottoms[0].shape;
    const Shape& top = setup->tops[0].shape;
    CheckImageSize(layer_, bottom);
    CheckImageSize(layer_, top);
    setup->bottoms[0].layout = WantedLayout(bottom);
    setup->tops[0].layout = WantedLayout(top);
    images_ = PoolingImagesOf(bottom, top, layer_.window());
    const int64_t taps = layer_.window().kernel[0] * layer_.window().kernel[1];
    if (taps > 65536) layer_.Fail("kernel_size is larger than 256 x 256");
    if (!setup->backward || !layer_.max()) return;
    setup->saved_bytes = top.count() * (taps <= 256 ? 1 : 2);
    setup->needs_top[0] = layer_.relu_backward();
  }

  void Forward(const KernelArgs& args) override {
    if (layer_.max()) {
      MaxPool(images_, context_.compute, args.bottoms[0], args.tops[0], args.saved,
              StreamOf(context_));
    } else {
      AveragePool(images_, context_.compute, args.bottoms[0], args.tops[0], StreamOf(context_));
    }
  }

  void Backward(const KernelArgs& args) override {
    if (args.bottom_diffs[0] == nullptr) return;
    const void* const dy = args.top_diffs[0][0];
    if (layer_.max()) {
      MaxPoolGradient(images_, context_.compute, dy,
                      layer_.relu_backward() ? args.tops[0] : nullptr, args.saved,
                      args.bottom_diffs[0], StreamOf(context_));
    } else {
      AveragePoolGradient(images_, context_.compute, dy, args.bottom_diffs[0], StreamOf(context_));
    }
  }

 private:
  const PoolingLayer& layer_;
  const KernelContext context_;
  PoolingImages images_;
};

GF_REGISTER(KernelRegistry, "cuda/Pooling", KernelOf<PoolingLayer, PoolingKernel>);

}  // namespace
}  // namespace gf
