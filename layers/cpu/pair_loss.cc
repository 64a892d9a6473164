#include "layers/pair_loss.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "layers/cpu/elementwise.h"
#include "layers/kernel.h"
#include "layers/labels.h"

namespace gf {
namespace {

class PairLossKernel : public Kernel {
 public:
  PairLossKernel(const PairLossLayer& layer, const KernelContext& context)
      : layer_(layer), type_(context.compute) {}

  void Setup(KernelSetup* setup) override {
    for (TensorDesc& bottom : setup->bottoms) bottom.layout = Layout();
    setup->needs_bottom = {setup->backward, setup->backward};
    // The loss and the number of pairs that count of each sample.
    setup->forward_scratch_bytes = 2 * layer_.samples() * sizeof(double);
  }

  void Forward(const KernelArgs& args) override {
    const int64_t samples = CountedSamples(args, layer_.samples()), inner = layer_.inner();
    auto* const losses = static_cast<double*>(args.scratch);
    double* const counts = losses + samples;
    ParallelFor(samples, 1, [&](int64_t begin, int64_t end) {
      for (int64_t sample = begin; sample < end; ++sample) {
        double loss = 0, count = 0;
        for (int64_t i = sample * inner; i < (sample + 1) * inner; ++i) {
          const float a = LoadElement(args.bottoms[0], i, type_);
          const float b = LoadElement(args.bottoms[1], i, type_);
          if (Ignores(b)) continue;
          loss += Loss(a, b);
          ++count;
        }
        losses[sample] = loss;
        counts[sample] = count;
      }
    });
    // The order does not depend on the number of threads.
    double loss = 0, count = 0;
    for (int64_t sample = 0; sample < samples; ++sample) {
      loss += losses[sample];
      count += counts[sample];
    }
    normalizer_ = layer_.Normalizer(static_cast<int64_t>(count), samples);
    *static_cast<float*>(args.tops[0]) = static_cast<float>(loss / normalizer_);
  }

  void Backward(const KernelArgs& args) override {
    const int64_t all = layer_.samples() * layer_.inner();
    const int64_t counted = CountedSamples(args, layer_.samples()) * layer_.inner();
    const double scale = layer_.LossWeight(0) * static_cast<double>(args.loss_scale) / normalizer_;
    ParallelFor(all, kElementGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        float da = 0, db = 0;
        const float a = LoadElement(args.bottoms[0], i, type_);
        const float b = LoadElement(args.bottoms[1], i, type_);
        if (i < counted && !Ignores(b)) {
          da = layer_.is_euclidean() ? a - b : 1 / (1 + std::exp(-a)) - b;
          db = layer_.is_euclidean() ? b - a : -a;
        }
        const auto factor = static_cast<float>(scale);
        if (args.bottom_diffs[0] != nullptr) {
          StoreElement(args.bottom_diffs[0], i, type_, factor * da);
        }
        if (args.bottom_diffs[1] != nullptr) {
          StoreElement(args.bottom_diffs[1], i, type_, factor * db);
        }
      }
    });
  }

 private:
  bool Ignores(float target) const { return layer_.has_ignored() && target == layer_.ignored(); }
  double Loss(float a, float b) const {
    if (layer_.is_euclidean()) return 0.5 * (a - b) * (a - b);
    return std::max(a, 0.f) - a * b + std::log1p(std::exp(-std::abs(a)));
  }

  const PairLossLayer& layer_;
  const DType type_;
  double normalizer_ = 1;
};

GF_REGISTER(KernelRegistry, "cpu/EuclideanLoss", KernelOf<PairLossLayer, PairLossKernel>);
GF_REGISTER(KernelRegistry, "cpu/SigmoidCrossEntropyLoss", KernelOf<PairLossLayer, PairLossKernel>);

}  // namespace
}  // namespace gf
