#include "layers/hinge_loss.h"

#include "layers/cpu/elementwise.h"
#include "layers/cpu/mean_loss.h"
#include "layers/kernel.h"
#include "layers/labels.h"

namespace gf {
namespace {

class HingeLossKernel : public Kernel {
 public:
  HingeLossKernel(const HingeLossLayer& layer, const KernelContext& context)
      : layer_(layer), type_(context.compute) {}

  void Setup(KernelSetup* setup) override { SetUpHingeLoss(layer_, setup); }

  void Forward(const KernelArgs& args) override {
    const ClassAxis& view = layer_.view();
    const int64_t samples = CountedSamples(args, view.outer);
    const auto* labels = static_cast<const int64_t*>(args.bottoms[1]);
    CountLabels(layer_, view, labels, samples, [](int64_t) { return false; });
    auto* const losses = static_cast<float*>(args.scratch);
    ParallelFor(view.outer, 1, [&](int64_t begin, int64_t end) {
      for (int64_t sample = begin; sample < end; ++sample) {
        double loss = 0;
        for (int64_t c = 0; sample < samples && c < view.classes; ++c) {
          const double below = Below(args, sample, c, c == labels[sample]);
          loss += layer_.squared() ? below * below : below;
        }
        losses[sample] = static_cast<float>(loss);
      }
    });
    *static_cast<float*>(args.tops[0]) = MeanLoss(losses, view.outer, layer_.Normalizer(samples));
  }

  void Backward(const KernelArgs& args) override {
    const ClassAxis& view = layer_.view();
    const int64_t samples = CountedSamples(args, view.outer);
    const auto* labels = static_cast<const int64_t*>(args.bottoms[1]);
    const auto scale = static_cast<float>(
        layer_.LossWeight(0) * static_cast<double>(args.loss_scale) / layer_.Normalizer(samples));
    ParallelFor(view.outer, 1, [&](int64_t begin, int64_t end) {
      for (int64_t sample = begin; sample < end; ++sample) {
        for (int64_t c = 0; c < view.classes; ++c) {
          float gradient = 0;
          if (sample < samples) {
            const bool own = c == labels[sample];
            const float below = Below(args, sample, c, own);
            const float slope = below == 0 ? 0 : layer_.squared() ? 2 * below : 1;
            gradient = scale * (own ? -slope : slope);
          }
          StoreElement(args.bottom_diffs[0], sample * view.classes + c, type_, gradient);
        }
      }
    });
  }

 private:
  // How far a score is below the margin; 0 if it is not, NaN for NaN.
  float Below(const KernelArgs& args, int64_t sample, int64_t c, bool own) const {
    const float x = LoadElement(args.bottoms[0], sample * layer_.view().classes + c, type_);
    const float below = own ? 1 - x : 1 + x;
    return below < 0 ? 0 : below;
  }

  const HingeLossLayer& layer_;
  const DType type_;
};

GF_REGISTER(KernelRegistry, "cpu/HingeLoss", KernelOf<HingeLossLayer, HingeLossKernel>);

}  // namespace
}  // namespace gf
