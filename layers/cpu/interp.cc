#include "layers/interp.h"

#include <algorithm>
#include <vector>

#include "core/cpu/channel_view.h"
#include "layers/cpu/elementwise.h"
#include "layers/cpu/interp_kernels.h"
#include "layers/kernel.h"

namespace gf {
namespace {

// For each pixel along an axis of the top, its pixels of the bottom and their weights; in backward
// the other way round.
class Taps {
 public:
  Taps() = default;
  Taps(const InterpAxis& axis, bool backward)
      : count_(backward ? axis.in() : axis.out()), sources_(backward ? axis.out() : axis.in()) {
    begin_.push_back(0);
    for (int i = 0; i < count_; ++i) {
      const InterpAxis::Range range = backward ? axis.Results(i) : axis.Sources(i);
      first_.push_back(range.begin);
      for (int s = range.begin; s < range.end; ++s) {
        weights_.push_back(backward ? axis.Share(s, i) : axis.Share(i, s));
      }
      begin_.push_back(static_cast<int32_t>(weights_.size()));
    }
  }

  int count() const { return count_; }
  int sources() const { return sources_; }
  InterpTaps taps() const { return {first_.data(), begin_.data(), weights_.data()}; }
  // Of pixel i.
  int first(int64_t i) const { return first_[i]; }
  int size(int64_t i) const { return begin_[i + 1] - begin_[i]; }
  const float* weights(int64_t i) const { return weights_.data() + begin_[i]; }

 private:
  int count_ = 0, sources_ = 0;  // pixels
  std::vector<int32_t> first_, begin_;
  std::vector<float> weights_;
};

// Both directions are sums that gather: a task is a row of pixels, or some channels of it.
class InterpKernel : public Kernel {
 public:
  InterpKernel(const InterpLayer& layer, const KernelContext& context)
      : layer_(layer), type_(context.compute), function_(ForType(Interp(), type_)) {}

  void Setup(KernelSetup* setup) override {
    TensorDesc& bottom = setup->bottoms[0];
    if (!GetChannelView(bottom, &view_)) {
      bottom.layout = Layout();
      GetChannelView(bottom, &view_);
    }
    setup->tops[0].layout = LayoutLike(view_, setup->tops[0]);
    forward_ = {Taps(layer_.rows(), false), Taps(layer_.columns(), false)};
    if (setup->backward) backward_ = {Taps(layer_.rows(), true), Taps(layer_.columns(), true)};
  }

  void Forward(const KernelArgs& args) override { Resize(forward_, args.bottoms[0], args.tops[0]); }
  void Backward(const KernelArgs& args) override {
    Resize(backward_, args.top_diffs[0][0], args.bottom_diffs[0]);
  }

 private:
  struct Direction {
    Taps rows, columns;
  };

  void Resize(const Direction& direction, const void* from, void* to) const {
    const Taps &rows = direction.rows, &columns = direction.columns;
    const int64_t block = view_.block, most = std::min<int64_t>(block, kInterpLanes);
    const int64_t chunks = (block + most - 1) / most;
    InterpRow row = {};
    row.stride = block;
    row.row_stride = columns.sources() * block;
    row.width = columns.sources();
    row.out_width = columns.count();
    row.columns = columns.taps();
    ParallelFor(view_.n * view_.blocks * rows.count() * chunks,
                std::max<int64_t>(1, kElementGrain / (row.out_width * most)),
                [&](int64_t begin, int64_t end) {
                  std::vector<float> sums(row.width * most);
                  InterpRow own = row;
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t result = i / chunks, lane = i % chunks * most;
                    const int64_t plane = result / rows.count(), y = result % rows.count();
                    own.lanes = static_cast<int>(std::min(most, block - lane));
                    own.rows = rows.size(y);
                    own.row_weights = rows.weights(y);
                    const int64_t source = plane * rows.sources() + rows.first(y);
                    function_(own, At(from, source * row.row_stride + lane, type_), sums.data(),
                              At(to, result * row.out_width * block + lane, type_));
                  }
                });
  }

  const InterpLayer& layer_;
  const DType type_;
  const InterpFunction function_;
  ChannelView view_;
  Direction forward_, backward_;
};

GF_REGISTER(KernelRegistry, "cpu/Interp", KernelOf<InterpLayer, InterpKernel>);

}  // namespace
}  // namespace gf
