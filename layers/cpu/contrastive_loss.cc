#include "layers/contrastive_loss.h"

#include <cmath>

#include "layers/cpu/elementwise.h"
#include "layers/cpu/mean_loss.h"
#include "layers/kernel.h"
#include "layers/labels.h"

namespace gf {
namespace {

class ContrastiveLossKernel : public Kernel {
 public:
  ContrastiveLossKernel(const ContrastiveLossLayer& layer, const KernelContext& context)
      : layer_(layer), type_(context.compute) {}

  void Setup(KernelSetup* setup) override { SetUpContrastiveLoss(layer_, setup); }

  void Forward(const KernelArgs& args) override {
    const int64_t pairs = CountedSamples(args, layer_.pairs());
    const auto* labels = static_cast<const int64_t*>(args.bottoms[2]);
    auto* const losses = static_cast<float*>(args.scratch);
    auto* const factors = static_cast<float*>(args.saved);
    ParallelFor(layer_.pairs(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t pair = begin; pair < end; ++pair) {
        losses[pair] = factors[pair] = 0;
        if (pair >= pairs) continue;
        const auto square = static_cast<float>(SquaredDistance(args, pair));
        if (labels[pair] != 0) {
          losses[pair] = square;
          factors[pair] = 1;
          continue;
        }
        const float distance = std::sqrt(square);
        const float below = layer_.margin() - (layer_.legacy() ? square : distance);
        if (below <= 0) continue;  // a NaN goes on
        losses[pair] = layer_.legacy() ? below : below * below;
        factors[pair] = layer_.legacy() ? -1 : -below / (distance + kContrastiveLeastDistance);
      }
    });
    *static_cast<float*>(args.tops[0]) =
        MeanLoss(losses, layer_.pairs(), 2 * layer_.Normalizer(pairs));
  }

  void Backward(const KernelArgs& args) override {
    const int64_t inner = layer_.inner();
    const auto* factors = static_cast<const float*>(args.saved);
    const double scale = layer_.LossWeight(0) * static_cast<double>(args.loss_scale) /
                         layer_.Normalizer(CountedSamples(args, layer_.pairs()));
    ParallelFor(layer_.pairs(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t pair = begin; pair < end; ++pair) {
        const auto factor = static_cast<float>(scale * factors[pair]);
        for (int64_t i = pair * inner; i < (pair + 1) * inner; ++i) {
          const float gradient = factor == 0 ? 0 : factor * Difference(args, i);
          if (args.bottom_diffs[0] != nullptr) {
            StoreElement(args.bottom_diffs[0], i, type_, gradient);
          }
          if (args.bottom_diffs[1] != nullptr) {
            StoreElement(args.bottom_diffs[1], i, type_, -gradient);
          }
        }
      }
    });
  }

 private:
  float Difference(const KernelArgs& args, int64_t i) const {
    return LoadElement(args.bottoms[0], i, type_) - LoadElement(args.bottoms[1], i, type_);
  }
  double SquaredDistance(const KernelArgs& args, int64_t pair) const {
    double sum = 0;
    for (int64_t i = pair * layer_.inner(); i < (pair + 1) * layer_.inner(); ++i) {
      const double difference = Difference(args, i);
      sum += difference * difference;
    }
    return sum;
  }

  const ContrastiveLossLayer& layer_;
  const DType type_;
};

GF_REGISTER(KernelRegistry, "cpu/ContrastiveLoss",
            KernelOf<ContrastiveLossLayer, ContrastiveLossKernel>);

}  // namespace
}  // namespace gf
