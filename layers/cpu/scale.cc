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
// block. Lanes beyond the last channel are padding, with gamma and beta 0. Without gamma, the
// factor is 1.
class ScaleKernel : public Kernel {
 public:
  ScaleKernel(const ScaleLayer& layer, const KernelContext& context)
      : layer_(layer), type_(context.compute), functions_(ForType(layer.negative_only() ? Prelu() : Scale(), type_)) {}

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
    SetUpScale(layer_, setup);
  }

  void Forward(const KernelArgs& args) override {
    const std::vector<float> gamma = Padded(args, layer_.gamma(), 1);
    const std::vector<float> beta = Padded(args, layer_.beta(), 0);
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
    const std::vector<float> gamma = Padded(args, layer_.gamma(), 1);
    const void* const dy = args.top_diffs[0][0];
    // Without gamma, x may be gone and nobody wants the sums of its products.
    const void* const x = layer_.gamma() < 0 ? dy : args.bottoms[0];
    const int64_t groups = (view_.block + kScaleLanes - 1) / kScaleLanes;
    ParallelFor(view_.blocks * groups, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t lane = i % groups * kScaleLanes, channel = i / groups * view_.block + lane;
        const int64_t at = i / groups * view_.spatial * view_.block + lane;
        const int lanes = static_cast<int>(std::min<int64_t>(kScaleLanes, view_.block - lane));
        void* dx = args.bottom_diffs[0];
        double dgamma[kScaleLanes], dbeta[kScaleLanes];
        functions_.backward(At(x, at, type_), At(dy, at, type_),
                            dx == nullptr ? nullptr : At(dx, at, type_), gamma.data() + channel,
                            view_.n, view_.blocks * view_.spatial * view_.block, view_.spatial,
                            view_.block, lanes, dgamma, dbeta);
        StoreSums(args, layer_.gamma(), channel, lanes, dgamma);
        StoreSums(args, layer_.beta(), channel, lanes, dbeta);
      }
    });
  }

 private:
  // One value per lane: parameter i, or `missing` if i is -1; 0 for padding.
  std::vector<float> Padded(const KernelArgs& args, int i, float missing) const {
    std::vector<float> padded(view_.padded_channels());
    if (i < 0) {
      std::fill(padded.begin(), padded.begin() + view_.channels, missing);
    } else {
      std::copy(args.master[i], args.master[i] + view_.channels, padded.begin());
    }
    return padded;
  }

  // The gradient of parameter i, unless i is -1, from the channel on; padding has none.
  void StoreSums(const KernelArgs& args, int i, int64_t channel, int lanes,
                 const double* sums) const {
    if (i < 0) return;
    for (int l = 0; l < lanes && channel + l < view_.channels; ++l) {
      StoreElement(args.parameter_diffs[i], channel + l, type_, static_cast<float>(sums[l]));
    }
  }

  const ScaleLayer& layer_;
  DType type_;
  const ScaleFunctions& functions_;
  ChannelView view_;
};

GF_REGISTER(KernelRegistry, "cpu/Bias", KernelOf<ScaleLayer, ScaleKernel>);
GF_REGISTER(KernelRegistry, "cpu/PReLU", KernelOf<ScaleLayer, ScaleKernel>);
GF_REGISTER(KernelRegistry, "cpu/Scale", KernelOf<ScaleLayer, ScaleKernel>);

}  // namespace
}  // namespace gf
