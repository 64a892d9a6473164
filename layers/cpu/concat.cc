#include "layers/concat.h"

#include <cstring>
#include <vector>

#include "core/cpu/channel_view.h"
#include "core/cpu/dnnl.h"
#include "layers/cpu/elementwise.h"
#include "layers/kernel.h"

namespace gf {
namespace {

// The oneDNN format of a four-axis tensor with this view; undef for other tensors.
dnnl::memory::format_tag TagOf(const TensorDesc& desc, const ChannelView& view) {
  using tag = dnnl::memory::format_tag;
  if (desc.layout.plain() || desc.shape.rank() != 4) return tag::undef;
  if (view.block == view.channels && view.blocks == 1 &&
      desc.layout == FromDnnl({desc.shape.dims(), ToDnnl(desc.dtype), tag::nhwc})) {
    return tag::nhwc;
  }
  switch (view.block) {
    case 4:
      return tag::nChw4c;
    case 8:
      return tag::nChw8c;
    case 16:
      return tag::nChw16c;
    default:
      return tag::undef;
  }
}

class ConcatKernel : public Kernel {
 public:
  ConcatKernel(const ConcatLayer& layer, const KernelContext& context) : layer_(layer) {}

  void Setup(KernelSetup* setup) override {
    if (!SetupChannels(setup)) SetupPlain(setup);
    row_ = 0;
    for (int64_t bytes : pieces_) row_ += bytes;
  }

  void Forward(const KernelArgs& args) override {
    ForPieces([&](size_t i, int64_t at, int64_t outer, int64_t bytes) {
      std::memcpy(static_cast<char*>(args.tops[0]) + outer * row_ + at,
                  static_cast<const char*>(args.bottoms[i]) + outer * bytes, bytes);
    });
  }

  void Backward(const KernelArgs& args) override {
    const char* dy = static_cast<const char*>(args.top_diffs[0][0]);
    ForPieces([&](size_t i, int64_t at, int64_t outer, int64_t bytes) {
      if (args.bottom_diffs[i] == nullptr) return;
      std::memcpy(static_cast<char*>(args.bottom_diffs[i]) + outer * bytes, dy + outer * row_ + at,
                  bytes);
    });
  }

 private:
  // Plans to concatenate channels in the first bottom's layout, if whole blocks can be copied:
  // every bottom except the last must fill its blocks.
  bool SetupChannels(KernelSetup* setup) {
    using tag = dnnl::memory::format_tag;
    ChannelView first;
    if (layer_.axis() != 1 || !GetChannelView(setup->bottoms[0], &first)) return false;
    const tag format = TagOf(setup->bottoms[0], first);
    if (format == tag::undef) return false;
    const bool nhwc = format == tag::nhwc;
    for (size_t i = 0; i + 1 < setup->bottoms.size(); ++i) {
      if (!nhwc && setup->bottoms[i].shape[1] % first.block != 0) return false;
    }
    const auto layout = [&](const TensorDesc& desc) {
      return FromDnnl({desc.shape.dims(), ToDnnl(desc.dtype), format});
    };
    pieces_.clear();
    outer_ = nhwc ? first.n * first.spatial : first.n;
    for (TensorDesc& bottom : setup->bottoms) {
      bottom.layout = layout(bottom);
      pieces_.push_back(static_cast<int64_t>(bottom.bytes()) / outer_);
    }
    setup->tops[0].layout = layout(setup->tops[0]);
    return true;
  }

  void SetupPlain(KernelSetup* setup) {
    pieces_.clear();
    outer_ = setup->tops[0].shape.count(0, layer_.axis());
    for (TensorDesc& bottom : setup->bottoms) {
      bottom.layout = Layout();
      pieces_.push_back(static_cast<int64_t>(bottom.bytes()) / outer_);
    }
  }

  // Calls copy(bottom, offset in a row of the top, row, bytes) for each piece of each row.
  template <typename Copy>
  void ForPieces(const Copy& copy) {
    const int64_t count = static_cast<int64_t>(pieces_.size());
    ParallelFor(outer_ * count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t outer = begin / count; outer * count < end; ++outer) {
        int64_t at = 0;
        for (int64_t i = 0; i < count; at += pieces_[i++]) {
          const int64_t unit = outer * count + i;
          if (unit >= begin && unit < end) copy(i, at, outer, pieces_[i]);
        }
      }
    });
  }

  const ConcatLayer& layer_;
  int64_t outer_ = 0, row_ = 0;
  std::vector<int64_t> pieces_;  // bytes of each bottom in a row of the top
};

GF_REGISTER(KernelRegistry, "cpu/Concat", KernelOf<ConcatLayer, ConcatKernel>);

}  // namespace
}  // namespace gf
