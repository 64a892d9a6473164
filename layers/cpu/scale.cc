#include "layers/scale.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/cpu/channel_view.h"
#include "layers/cpu/elementwise.h"
#include "layers/cpu/scale_kernels.h"
#include "layers/kernel.h"

namespace gf {
namespace {

// Treats the storage as [rows][blocks][spatial][block]: channel c is lane c % block of block c /
// block. Lanes beyond the last channel are padding, with gamma and beta 0.
class ScaleKernel : public Kernel {
 public:
  ScaleKernel(const ScaleLayer& layer, const KernelContext& context)
      : layer_(layer), type_(context.compute), functions_(ForType(Scale(), type_)) {}

  void Setup(KernelSetup* setup) override {
    if (layer_.begin() != 1 || layer_.end() != 2 || !GetChannelView(setup->bottoms[0], &view_)) {
      setup->bottoms[0].layout = Layout();
      const Shape& shape = setup->bottoms[0].shape;
      view_.n = shape.count(0, layer_.begin());
      view_.channels = view_.blocks = shape.count(layer_.begin(), layer_.end());
      view_.spatial = shape.count(layer_.end(), shape.rank());
      view_.block = 1;
    }
    if (view_.block == 1 && view_.spatial == 1) std::swap(view_.block, view_.blocks);
    if (view_.blocks == 1) {
      view_.n *= view_.spatial;
      view_.spatial = 1;
    }
    setup->tops[0].layout = setup->bottoms[0].layout;
    for (TensorDesc& parameter : setup->parameters) parameter.layout = Layout();
    setup->needs_bottom[0] = setup->backward;
    setup->in_place = !setup->backward;
    setup->in_place_backward = true;
  }

  void Forward(const KernelArgs& args) override {
    const std::vector<float> gamma = Padded(args.master[0]);
    const std::vector<float> beta = Padded(layer_.bias() ? args.master[1] : nullptr);
    const int64_t row = view_.spatial * view_.block;
    ParallelFor(view_.n * view_.blocks, std::max<int64_t>(1, kElementGrain / row),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    const int64_t channel = i % view_.blocks * view_.block;
                    functions_.forward(At(args.bottoms[0], i * row, type_),
                                       At(args.tops[0], i * row, type_), gamma.data() + channel,
                                       beta.data() + channel, view_.spatial, view_.block);
                  }
                });
  }

  // Each thread computes whole channels, so the sums do not depend on the number of threads.
  void Backward(const KernelArgs& args) override {
    const std::vector<float> gamma = Padded(args.master[0]);
    const int64_t groups = (view_.block + kScaleLanes - 1) / kScaleLanes;
    ParallelFor(view_.blocks * groups, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t lane = i % groups * kScaleLanes, channel = i / groups * view_.block + lane;
        const int64_t at = i / groups * view_.spatial * view_.block + lane;
        const int lanes = static_cast<int>(std::min<int64_t>(kScaleLanes, view_.block - lane));
        void* dx = args.bottom_diffs[0];
        double dgamma[kScaleLanes], dbeta[kScaleLanes];
        functions_.backward(At(args.bottoms[0], at, type_), At(args.top_diffs[0][0], at, type_),
                            dx == nullptr ? nullptr : At(dx, at, type_), gamma.data() + channel,
                            view_.n, view_.blocks * view_.spatial * view_.block, view_.spatial,
                            view_.block, lanes, dgamma, dbeta);
        for (int l = 0; l < lanes && channel + l < view_.channels; ++l) {
          StoreElement(args.parameter_diffs[0], channel + l, type_, static_cast<float>(dgamma[l]));
          if (!layer_.bias()) continue;
          StoreElement(args.parameter_diffs[1], channel + l, type_, static_cast<float>(dbeta[l]));
        }
      }
    });
  }

 private:
  // One value per lane; 0 for padding, and everywhere if `values` is null.
  std::vector<float> Padded(const float* values) const {
    std::vector<float> padded(view_.padded_channels());
    if (values != nullptr) std::copy(values, values + view_.channels, padded.begin());
    return padded;
  }

  const ScaleLayer& layer_;
  DType type_;
  const ScaleFunctions& functions_;
  ChannelView view_;
};

GF_REGISTER(KernelRegistry, "cpu/Scale", KernelOf<ScaleLayer, ScaleKernel>);

}  // namespace
}  // namespace gf
