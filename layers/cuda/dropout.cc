#include "layers/dropout.h"

#include "layers/cuda/dropout_kernels.h"
#include "layers/cuda/kernel_context.h"

namespace gf {
namespace {

class DropoutKernel : public RepeatingKernel {
 public:
  DropoutKernel(const DropoutLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Setup(KernelSetup* setup) override {
    SetUpDropping(layer_, setup);
    count_ = setup->bottoms[0].storage_count();
    bytes_ = setup->bottoms[0].bytes();
  }

  void Forward(const KernelArgs& args) override {
    if (layer_.identity()) return CopyOnDevice(context_, args.bottoms[0], args.tops[0], bytes_);
    Dropout(context_.compute, args.bottoms[0], args.tops[0], static_cast<uint8_t*>(args.saved),
            layer_.scale(), layer_.Draws(context_, args.sequence), count_, StreamOf(context_));
  }

  // Each batch draws different random numbers.
  bool ForwardRepeats() const override { return layer_.identity(); }

  void Backward(const KernelArgs& args) override {
    const void* const dy = args.top_diffs[0][0];
    if (layer_.identity()) return CopyOnDevice(context_, dy, args.bottom_diffs[0], bytes_);
    DropoutGradient(context_.compute, dy, static_cast<const uint8_t*>(args.saved),
                    args.bottom_diffs[0], layer_.scale(), count_, StreamOf(context_));
  }

 private:
  const DropoutLayer& layer_;
  const KernelContext context_;
  int64_t count_ = 0;
  size_t bytes_ = 0;
};

GF_REGISTER(KernelRegistry, "cuda/Dropout", KernelOf<DropoutLayer, DropoutKernel>);

}  // namespace
}  // namespace gf
