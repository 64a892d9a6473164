#include "layers/dropout.h"

#include "layers/cpu/dropout_kernels.h"
#include "layers/cpu/elementwise.h"
#include "layers/kernel.h"

namespace gf {
namespace {

class DropoutKernel : public Kernel {
 public:
  DropoutKernel(const DropoutLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context), functions_(ForType(Dropout(), context.compute)) {}

  void Setup(KernelSetup* setup) override {
    SetUpDropping(layer_, setup);
    count_ = setup->bottoms[0].storage_count();
    bytes_ = setup->bottoms[0].bytes();
  }

  void Forward(const KernelArgs& args) override {
    if (layer_.identity()) return CopyStorage(args.bottoms[0], args.tops[0], bytes_);
    const KeepDraws draws = layer_.Draws(context_, args.sequence);
    auto* keep = static_cast<uint8_t*>(args.saved);
    ParallelFor(count_, kElementGrain, [&](int64_t begin, int64_t end) {
      functions_.forward(args.bottoms[0], args.tops[0], keep, layer_.scale(), draws, begin, end);
    });
  }

  void Backward(const KernelArgs& args) override {
    const void* dy = args.top_diffs[0][0];
    if (layer_.identity()) return CopyStorage(dy, args.bottom_diffs[0], bytes_);
    const auto* keep = static_cast<const uint8_t*>(args.saved);
    ParallelFor(count_, kElementGrain, [&](int64_t begin, int64_t end) {
      functions_.backward(dy, keep, args.bottom_diffs[0], layer_.scale(), begin, end);
    });
  }

 private:
  const DropoutLayer& layer_;
  KernelContext context_;
  const DropoutFunctions& functions_;
  int64_t count_ = 0;
  size_t bytes_ = 0;
};

GF_REGISTER(KernelRegistry, "cpu/Dropout", KernelOf<DropoutLayer, DropoutKernel>);

}  // namespace
}  // namespace gf
