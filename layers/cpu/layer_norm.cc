#include "layers/layer_norm.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/cpu/dnnl.h"
#include "layers/cpu/elementwise.h"
#include "layers/cpu/layer_norm_kernels.h"
#include "layers/kernel.h"

namespace gf {
namespace {

// Works on spans of rows: one contiguous row, or up to kLayerNormWidth neighbors. The gradients of
// gamma and beta are sums over parts of the spans; the parts do not depend on the number of
// threads.
class LayerNormKernel : public Kernel {
 public:
  LayerNormKernel(const LayerNormLayer& layer, const KernelContext& context)
      : layer_(layer), type_(context.compute), functions_(ForType(LayerNorm(), type_)) {}

  void Setup(KernelSetup* setup) override {
    TensorDesc& bottom = setup->bottoms[0];
    // Contiguous rows are faster than blocks of channels.
    if (layer_.over_channels() && bottom.shape.rank() == 4 && !bottom.layout.plain()) {
      bottom.layout =
          FromDnnl({bottom.shape.dims(), ToDnnl(bottom.dtype), dnnl::memory::format_tag::nhwc});
    } else {
      bottom.layout = Layout();
    }
    setup->tops[0].layout = bottom.layout;
    for (TensorDesc& parameter : setup->parameters) parameter.layout = Layout();
    view_ = layer_.View(!bottom.layout.plain());
    spans_of_outer_ = (view_.inner + kLayerNormWidth - 1) / kLayerNormWidth;
    spans_ = view_.outer * spans_of_outer_;
    // Without sums, parts need no memory.
    const int64_t most = layer_.affine() ? spans_ / kSpansOfPart : spans_;
    parts_ = std::max<int64_t>(1, std::min(kMostParts, most));
    if (!layer_.affine()) {
      ones_.assign(view_.channels, 1);
      zeros_.assign(view_.channels, 0);
    }
    setup->in_place = !setup->backward;
    if (!setup->backward) return;
    setup->needs_bottom[0] = true;
    setup->in_place_backward = true;
    setup->saved_bytes = 2 * view_.rows() * sizeof(float);  // mean and inverse_std
    if (layer_.affine()) {
      setup->backward_scratch_bytes = parts_ * 2 * view_.channels * sizeof(float);
    }
  }

  void Forward(const KernelArgs& args) override {
    const float* const gamma = layer_.affine() ? args.master[0] : ones_.data();
    const float* const beta = layer_.affine() ? args.master[1] : zeros_.data();
    auto* const saved = static_cast<float*>(args.saved);
    const int64_t width = std::min<int64_t>(view_.inner, kLayerNormWidth);
    const int64_t grain = std::max<int64_t>(1, kElementGrain / (view_.channels * width));
    ParallelFor(spans_, grain, [&](int64_t begin, int64_t end) {
      float means[kLayerNormWidth], inverses[kLayerNormWidth], variance[kLayerNormWidth];
      for (int64_t i = begin; i < end; ++i) {
        const Place place = PlaceOf(i);
        float* const mean = saved == nullptr ? means : saved + place.row;
        float* const inverse_std = saved == nullptr ? inverses : saved + view_.rows() + place.row;
        const void* const x = At(args.bottoms[0], place.element, type_);
        functions_.moments(place.span, x, mean, variance);
        for (int j = 0; j < place.span.width; ++j) {
          inverse_std[j] = static_cast<float>(1 / std::sqrt(double{variance[j]} + layer_.eps()));
        }
        functions_.normalize(place.span, x, mean, inverse_std, gamma, beta,
                             At(args.tops[0], place.element, type_));
      }
    });
  }

  void Backward(const KernelArgs& args) override {
    const int64_t sums = layer_.affine() ? 2 * view_.channels : 0;  // of a part
    auto* const totals = static_cast<float*>(args.scratch);
    std::fill(totals, totals + parts_ * sums, 0.f);
    ParallelFor(parts_, 1, [&](int64_t begin, int64_t end) {
      std::vector<float> own(sums);
      for (int64_t part = begin; part < end; ++part) {
        const int64_t last = spans_ * (part + 1) / parts_;
        for (int64_t first = spans_ * part / parts_; first < last; first += kSpansAtOnce) {
          std::fill(own.begin(), own.end(), 0.f);
          BackwardSpans(args, first, std::min(first + kSpansAtOnce, last), own.data());
          for (int64_t i = 0; i < sums; ++i) totals[part * sums + i] += own[i];
        }
      }
    });
    if (layer_.affine()) SumParts(args, totals);
  }

 private:
  static constexpr int64_t kMostParts = 64, kSpansOfPart = 8;
  // Whose sums are added up before they are added to others, so that no sum is long.
  static constexpr int64_t kSpansAtOnce = 64;

  struct Place {
    LayerNormSpan span;
    int64_t row, element;  // the first ones
  };
  Place PlaceOf(int64_t span) const {
    const int64_t outer = span / spans_of_outer_;
    const int64_t inner = span % spans_of_outer_ * kLayerNormWidth;
    const auto width = static_cast<int>(std::min<int64_t>(kLayerNormWidth, view_.inner - inner));
    return {{view_.channels, view_.inner, width},
            outer * view_.inner + inner,
            outer * view_.channels * view_.inner + inner};
  }

  // `sums`: [2][channels], for gamma and beta.
  void BackwardSpans(const KernelArgs& args, int64_t begin, int64_t end, float* sums) const {
    const bool affine = layer_.affine();
    const float* const gamma = affine ? args.master[0] : ones_.data();
    const auto* const saved = static_cast<const float*>(args.saved);
    void* const dx = args.bottom_diffs[0];
    for (int64_t i = begin; i < end; ++i) {
      const Place place = PlaceOf(i);
      functions_.backward(place.span, At(args.bottoms[0], place.element, type_),
                          At(args.top_diffs[0][0], place.element, type_), saved + place.row,
                          saved + view_.rows() + place.row, gamma, affine ? sums : nullptr,
                          affine ? sums + view_.channels : nullptr,
                          dx == nullptr ? nullptr : At(dx, place.element, type_));
    }
  }

  void SumParts(const KernelArgs& args, const float* totals) const {
    ParallelFor(2 * view_.channels, 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        double sum = 0;
        for (int64_t part = 0; part < parts_; ++part) {
          sum += totals[part * 2 * view_.channels + i];
        }
        StoreElement(args.parameter_diffs[i / view_.channels], i % view_.channels, type_,
                     static_cast<float>(sum));
      }
    });
  }

  const LayerNormLayer& layer_;
  const DType type_;
  const LayerNormFunctions& functions_;
  LayerNormView view_;
  int64_t spans_of_outer_ = 0, spans_ = 0, parts_ = 0;
  std::vector<float> ones_, zeros_;  // gamma and beta where the layer has none
};

GF_REGISTER(KernelRegistry, "cpu/LayerNorm", KernelOf<LayerNormLayer, LayerNormKernel>);

}  // namespace
}  // namespace gf
