#include "layers/slice.h"

#include <algorithm>

#include "layers/cuda/piece_mover.h"

namespace gf {
namespace {

class SliceKernel : public RepeatingKernel {
 public:
  SliceKernel(const SliceLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context), mover_(context) {}

  void Setup(KernelSetup* setup) override {
    mover_.Setup(layer_.axis(), &setup->bottoms[0], &setup->tops);
    bytes_ = setup->bottoms[0].bytes();
  }
  void Forward(const KernelArgs& args) override { mover_.Split(args.bottoms[0], args.tops); }
  // An unused top has no gradient.
  void Backward(const KernelArgs& args) override {
    std::vector<const void*> diffs;
    for (const auto& top : args.top_diffs) diffs.push_back(top.empty() ? nullptr : top[0]);
    if (std::count(diffs.begin(), diffs.end(), nullptr) > 0) {
      context_.device->Zero(args.bottom_diffs[0], bytes_, context_.device->compute_stream());
    }
    mover_.Join(diffs, args.bottom_diffs[0]);
  }

 private:
  const SliceLayer& layer_;
  const KernelContext context_;
  PieceMover mover_;
  size_t bytes_ = 0;
};

GF_REGISTER(KernelRegistry, "cuda/Slice", KernelOf<SliceLayer, SliceKernel>);

}  // namespace
}  // namespace gf
