#include "layers/slice.h"

#include <algorithm>
#include <cstring>

#include "layers/cpu/channel_pieces.h"
#include "layers/kernel.h"

namespace gf {
namespace {

class SliceKernel : public Kernel {
 public:
  SliceKernel(const SliceLayer& layer, const KernelContext& context) : layer_(layer) {}

  void Setup(KernelSetup* setup) override {
    const TensorDesc whole = setup->bottoms[0];
    pieces_.Setup(layer_.axis(), whole, &setup->bottoms[0], &setup->tops);
    bytes_ = setup->bottoms[0].bytes();
  }
  void Forward(const KernelArgs& args) override { pieces_.Split(args.bottoms[0], args.tops); }
  // An unused top has no gradient.
  void Backward(const KernelArgs& args) override {
    std::vector<const void*> diffs;
    for (const auto& top : args.top_diffs) diffs.push_back(top.empty() ? nullptr : top[0]);
    if (std::count(diffs.begin(), diffs.end(), nullptr) > 0) {
      std::memset(args.bottom_diffs[0], 0, bytes_);
    }
    pieces_.Join(diffs, args.bottom_diffs[0]);
  }

 private:
  const SliceLayer& layer_;
  ChannelPieces pieces_;
  size_t bytes_ = 0;
};

GF_REGISTER(KernelRegistry, "cpu/Slice", KernelOf<SliceLayer, SliceKernel>);

}  // namespace
}  // namespace gf
