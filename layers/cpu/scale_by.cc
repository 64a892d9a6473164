#include "layers/scale_by.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/cpu/channel_view.h"
#include "layers/cpu/elementwise.h"
#include "layers/cpu/scale_kernels.h"
#include "layers/kernel.h"

namespace gf {
namespace {

// Treats the storage as [outer][units][spatial][block], with a factor per unit and lane. Where the
// factor belongs to the planes of images, a unit is a block of channels of an image; its lanes
// beyond the last channel are padding, with the factor 0.
class ScaleByKernel : public Kernel {
 public:
  ScaleByKernel(const ScaleByLayer& layer, const KernelContext& context)
      : layer_(layer), type_(context.compute), functions_(ForType(Scale(), type_)) {}

  void Setup(KernelSetup* setup) override {
    TensorDesc& x = setup->bottoms[layer_.x()];
    const Shape& shape = x.shape;
    planes_ = {};
    if (layer_.begin() == 0 && layer_.end() == 2 && GetChannelView(x, &planes_)) {
      outer_ = 1;
      units_ = planes_.n * planes_.blocks;
      spatial_ = planes_.spatial;
      block_ = planes_.block;
    } else {
      x.layout = Layout();
      outer_ = shape.count(0, layer_.begin());
      units_ = shape.count(layer_.begin(), layer_.end());
      spatial_ = shape.count(layer_.end(), shape.rank());
      block_ = 1;
    }
    padded_ = planes_.channels < planes_.padded_channels();
    if (block_ == 1 && spatial_ == 1) std::swap(block_, units_);
    SetUpScaleBy(layer_, setup);
    bytes_ = x.bytes();
    neutral_.assign(block_, layer_.adds() ? 1.f : 0.f);
  }

  void Forward(const KernelArgs& args) override {
    const void* addend = layer_.addend() < 0 ? nullptr : args.bottoms[layer_.addend()];
    Apply(args.bottoms[layer_.x()], addend, Factors(args.bottoms[layer_.factor()]), args.tops[0]);
  }

  void Backward(const KernelArgs& args) override {
    const void* const dy = args.top_diffs[0][0];
    void* const dx = args.bottom_diffs[layer_.x()];
    void* const dfactor = args.bottom_diffs[layer_.factor()];
    const std::vector<float> none(units_ * block_);
    if (layer_.adds()) {
      // x may be gone; the sums of its products are not used.
      if (dfactor != nullptr) Sums(dy, dy, none, nullptr, dfactor);
      if (dx != nullptr) CopyStorage(dy, dx, bytes_);
    } else if (dfactor != nullptr) {
      Sums(args.bottoms[layer_.x()], dy,
           dx == nullptr ? none : Factors(args.bottoms[layer_.factor()]), dx, dfactor);
    } else if (dx != nullptr) {
      Apply(dy, nullptr, Factors(args.bottoms[layer_.factor()]), dx);
    }
    if (layer_.addend() < 0 || args.bottom_diffs[layer_.addend()] == nullptr) return;
    CopyStorage(dy, args.bottom_diffs[layer_.addend()], bytes_);
  }

 private:
  // The factor's element for a lane of a unit; -1: padding.
  int64_t ElementOf(int64_t unit, int64_t lane) const {
    if (!padded_) return unit * block_ + lane;
    const int64_t channel = unit % planes_.blocks * block_ + lane;
    return channel < planes_.channels ? unit / planes_.blocks * planes_.channels + channel : -1;
  }

  // One per lane of each unit.
  std::vector<float> Factors(const void* factor) const {
    std::vector<float> factors(units_ * block_);
    for (int64_t i = 0; i < units_ * block_; ++i) {
      const int64_t element = ElementOf(i / block_, i % block_);
      if (element >= 0) factors[i] = LoadElement(factor, element, type_);
    }
    return factors;
  }

  // y = factors * x + addend, which may be null; or y = x + factors.
  void Apply(const void* x, const void* addend, const std::vector<float>& factors, void* y) const {
    const float* const neutral = neutral_.data();
    const bool adds = layer_.adds();
    const int64_t row = spatial_ * block_;
    ParallelFor(outer_ * units_, std::max<int64_t>(1, kElementGrain / row),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const float* const own = factors.data() + i % units_ * block_;
                    const void* const from = At(x, i * row, type_);
                    void* const to = At(y, i * row, type_);
                    if (addend == nullptr) {
                      functions_.forward(from, to, adds ? neutral : own, adds ? own : neutral,
                                         spatial_, block_);
                    } else {
                      functions_.forward_add(from, At(addend, i * row, type_), to, own, spatial_,
                                             block_);
                    }
                  }
                });
  }

  // dfactor, and dx if it is not null. Each thread computes whole lanes, so the sums do not depend
  // on the number of threads.
  void Sums(const void* x, const void* dy, const std::vector<float>& factors, void* dx,
            void* dfactor) const {
    const int64_t groups = (block_ + kScaleLanes - 1) / kScaleLanes, row = spatial_ * block_;
    ParallelFor(units_ * groups, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t unit = i / groups, lane = i % groups * kScaleLanes;
        const int64_t at = unit * row + lane;
        const int lanes = static_cast<int>(std::min<int64_t>(kScaleLanes, block_ - lane));
        double products[kScaleLanes], sums[kScaleLanes];
        functions_.backward(At(x, at, type_), At(dy, at, type_),
                            dx == nullptr ? nullptr : At(dx, at, type_),
                            factors.data() + unit * block_ + lane, outer_, units_ * row, spatial_,
                            block_, lanes, products, sums);
        const double* const results = layer_.adds() ? sums : products;
        for (int l = 0; l < lanes; ++l) {
          const int64_t element = ElementOf(unit, lane + l);
          if (element >= 0) StoreElement(dfactor, element, type_, static_cast<float>(results[l]));
        }
      }
    });
  }

  const ScaleByLayer& layer_;
  DType type_;
  const ScaleFunctions& functions_;
  ChannelView planes_;  // if the factor belongs to planes
  bool padded_ = false;
  int64_t outer_ = 0, units_ = 0, spatial_ = 0, block_ = 0;
  size_t bytes_ = 0;
  std::vector<float> neutral_;  // a block: addends of 0, or factors of 1 if the layer adds
};

GF_REGISTER(KernelRegistry, "cpu/Axpy", KernelOf<ScaleByLayer, ScaleByKernel>);
GF_REGISTER(KernelRegistry, "cpu/BiasBy", KernelOf<ScaleByLayer, ScaleByKernel>);
GF_REGISTER(KernelRegistry, "cpu/ScaleBy", KernelOf<ScaleByLayer, ScaleByKernel>);

}  // namespace
}  // namespace gf
