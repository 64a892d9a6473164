#include "layers/stochastic_depth.h"

#include <algorithm>
#include <cstring>

#include "core/cpu/channel_view.h"
#include "layers/cpu/elementwise.h"
#include "layers/cpu/scale_kernels.h"
#include "layers/draws_inline.h"
#include "layers/kernel.h"

namespace gf {
namespace {

class StochasticDepthKernel : public Kernel {
 public:
  StochasticDepthKernel(const StochasticDepthLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context), functions_(ForType(Scale(), context.compute)) {}

  void Setup(KernelSetup* setup) override {
    TensorDesc& bottom = setup->bottoms[0];
    parts_ = layer_.Parts(bottom);
    ChannelView images;
    // In other layouts an image may be in several places.
    if (!layer_.identity() && parts_ > 1 && !GetChannelView(bottom, &images)) {
      bottom.layout = Layout();
    }
    SetUpDropping(layer_, setup);
    count_ = bottom.storage_count();
    bytes_ = bottom.bytes();
  }

  void Forward(const KernelArgs& args) override {
    if (layer_.identity()) return CopyStorage(args.bottoms[0], args.tops[0], bytes_);
    const KeepDraws draws = layer_.Draws(context_, args.sequence);
    auto* keep = static_cast<uint8_t*>(args.saved);
    for (int64_t i = 0; i < parts_; ++i) keep[i] = Keeps(draws, i);
    Apply(keep, args.bottoms[0], args.tops[0]);
  }

  void Backward(const KernelArgs& args) override {
    const void* dy = args.top_diffs[0][0];
    if (layer_.identity()) return CopyStorage(dy, args.bottom_diffs[0], bytes_);
    Apply(static_cast<const uint8_t*>(args.saved), dy, args.bottom_diffs[0]);
  }

 private:
  // to = keep ? scale * from : 0, for each part; `to` may be `from`.
  void Apply(const uint8_t* keep, const void* from, void* to) const {
    const DType type = context_.compute;
    const float scale = layer_.scale(), shift = 0;
    const int64_t part_count = count_ / parts_;
    ParallelFor(count_, kElementGrain, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end;) {
        const int64_t part = at / part_count, stop = std::min(end, (part + 1) * part_count);
        if (keep[part]) {
          functions_.forward(At(from, at, type), At(to, at, type), &scale, &shift, stop - at, 1);
        } else {
          std::memset(At(to, at, type), 0, (stop - at) * SizeOf(type));
        }
        at = stop;
      }
    });
  }

  const StochasticDepthLayer& layer_;
  const KernelContext context_;
  const ScaleFunctions& functions_;
  int64_t parts_ = 0, count_ = 0;
  size_t bytes_ = 0;
};

GF_REGISTER(KernelRegistry, "cpu/StochasticDepth",
            KernelOf<StochasticDepthLayer, StochasticDepthKernel>);

}  // namespace
}  // namespace gf
