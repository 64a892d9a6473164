#include "layers/stochastic_depth.h"

#include "layers/cuda/kernel_context.h"
#include "layers/cuda/stochastic_depth_kernels.h"

namespace gf {
namespace {

// Images follow each other in every layout of a GPU.
class StochasticDepthKernel : public RepeatingKernel {
 public:
  StochasticDepthKernel(const StochasticDepthLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Setup(KernelSetup* setup) override {
    SetUpDropping(layer_, setup);
    const TensorDesc& bottom = setup->bottoms[0];
    const int64_t parts = layer_.Parts(bottom);
    parts_ = {parts, bottom.storage_count() / parts, layer_.scale()};
    bytes_ = bottom.bytes();
  }

  void Forward(const KernelArgs& args) override {
    if (layer_.identity()) return CopyOnDevice(context_, args.bottoms[0], args.tops[0], bytes_);
    DropParts(parts_, layer_.Draws(context_, args.sequence), context_.compute, args.bottoms[0],
              static_cast<uint8_t*>(args.saved), args.tops[0], StreamOf(context_));
  }

  // Each batch draws different random numbers.
  bool ForwardRepeats() const override { return layer_.identity(); }

  void Backward(const KernelArgs& args) override {
    const void* const dy = args.top_diffs[0][0];
    if (layer_.identity()) return CopyOnDevice(context_, dy, args.bottom_diffs[0], bytes_);
    DropPartsGradient(parts_, context_.compute, dy, static_cast<const uint8_t*>(args.saved),
                      args.bottom_diffs[0], StreamOf(context_));
  }

 private:
  const StochasticDepthLayer& layer_;
  const KernelContext context_;
  DroppedParts parts_ = {};
  size_t bytes_ = 0;
};

GF_REGISTER(KernelRegistry, "cuda/StochasticDepth",
            KernelOf<StochasticDepthLayer, StochasticDepthKernel>);

}  // namespace
}  // namespace gf
