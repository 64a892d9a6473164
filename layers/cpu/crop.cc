#include "layers/crop.h"

#include <algorithm>
#include <cstring>

#include "core/cpu/channel_view.h"
#include "layers/cpu/elementwise.h"
#include "layers/kernel.h"

namespace gf {
namespace {

// Moves rows: runs along the last axis of the box.
class CropKernel : public Kernel {
 public:
  CropKernel(const CropLayer& layer, const KernelContext& context)
      : layer_(layer), element_(static_cast<int64_t>(SizeOf(context.compute))) {}

  void Setup(KernelSetup* setup) override {
    TensorDesc& data = setup->bottoms[0];
    ChannelView view;
    if (!GetChannelView(data, &view) || (!view.channels_last && !layer_.keeps_channels())) {
      data.layout = Layout();
      view = ChannelView();
      view.block = 1;
    }
    setup->tops[0].layout = LayoutLike(view, setup->tops[0]);
    box_ = layer_.Box(view.block);
    last_ = static_cast<int>(box_.dims.size()) - 1;
    dim_ = box_.dims[last_];
    extent_ = box_.extents[last_];
    offset_ = box_.offsets[last_];
    data_rows_ = top_rows_ = 1;
    for (int i = 0; i < last_; ++i) {
      data_rows_ *= box_.dims[i];
      top_rows_ *= box_.extents[i];
    }
  }

  void Forward(const KernelArgs& args) override {
    const auto* const from = static_cast<const char*>(args.bottoms[0]);
    auto* const to = static_cast<char*>(args.tops[0]);
    ForRows(top_rows_, extent_, [&](int64_t row) {
      std::memcpy(to + row * extent_ * element_, from + (DataRow(row) * dim_ + offset_) * element_,
                  extent_ * element_);
    });
  }

  void Backward(const KernelArgs& args) override {
    const auto* const from = static_cast<const char*>(args.top_diffs[0][0]);
    auto* const to = static_cast<char*>(args.bottom_diffs[0]);
    ForRows(data_rows_, dim_, [&](int64_t row) {
      char* const begin = to + row * dim_ * element_;
      const int64_t of_top = TopRow(row);
      if (of_top < 0) {
        std::memset(begin, 0, dim_ * element_);
        return;
      }
      const int64_t before = offset_ * element_, inside = extent_ * element_;
      std::memset(begin, 0, before);
      std::memcpy(begin + before, from + of_top * inside, inside);
      std::memset(begin + before + inside, 0, dim_ * element_ - before - inside);
    });
  }

 private:
  template <typename Move>
  static void ForRows(int64_t rows, int64_t elements, const Move& move) {
    ParallelFor(rows, std::max<int64_t>(1, kElementGrain / elements),
                [&](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row) move(row);
                });
  }

  // The row of the data that holds a row of the top.
  int64_t DataRow(int64_t row) const {
    int64_t result = 0, stride = 1;
    for (int i = last_ - 1; i >= 0; --i) {
      result += (row % box_.extents[i] + box_.offsets[i]) * stride;
      row /= box_.extents[i];
      stride *= box_.dims[i];
    }
    return result;
  }
  // The row of the top that a row of the data holds; -1 if there is none.
  int64_t TopRow(int64_t row) const {
    int64_t result = 0, stride = 1;
    for (int i = last_ - 1; i >= 0; --i) {
      const int64_t at = row % box_.dims[i] - box_.offsets[i];
      if (at < 0 || at >= box_.extents[i]) return -1;
      result += at * stride;
      row /= box_.dims[i];
      stride *= box_.extents[i];
    }
    return result;
  }

  const CropLayer& layer_;
  const int64_t element_;  // bytes
  CropBox box_;
  int last_ = 0;                               // axis
  int64_t dim_ = 0, extent_ = 0, offset_ = 0;  // along it
  int64_t data_rows_ = 0, top_rows_ = 0;
};

GF_REGISTER(KernelRegistry, "cpu/Crop", KernelOf<CropLayer, CropKernel>);

}  // namespace
}  // namespace gf
