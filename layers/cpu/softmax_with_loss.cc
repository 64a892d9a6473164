#include "layers/softmax_with_loss.h"

#include <cmath>

#include "layers/cpu/elementwise.h"
#include "layers/cpu/softmax_loss.h"

namespace gf {
namespace {

class SoftmaxWithLossKernel : public SoftmaxLossKernel {
 public:
  SoftmaxWithLossKernel(const SoftmaxWithLossLayer& layer, const KernelContext& context)
      : SoftmaxLossKernel(layer, context), layer_(layer) {}

 protected:
  // -sum of target * log(probability), where log(probability) = x - max - log(sum).
  float Loss(const SoftmaxSpan& span, const SoftmaxSums& sums, int j, const void* x,
             int64_t label) const override {
    const float smoothing = layer_.label_smoothing();
    float loss = (1 - smoothing) * (sums.max[j] - LoadElement(x, label * span.stride + j, type()));
    if (smoothing > 0) loss += smoothing * sums.deficit[j] / span.classes;
    return loss + std::log(sums.sum[j]);
  }

  void Gradient(const SoftmaxSpan& span, const float* p, const Weighted& own,
                void* dx) const override {
    const float spread = layer_.label_smoothing() / span.classes;
    const float target = 1 - layer_.label_smoothing() + spread;
    functions().loss_backward(span, p, own.factor, spread, dx);
    for (int j = 0; j < span.width; ++j) {
      if (own.factor[j] == 0) continue;
      const int64_t i = own.labels[j] * span.stride + j;
      StoreElement(dx, i, type(), own.factor[j] * (p[i] - target));
    }
  }

  void MixedGradient(const SoftmaxSpan& span, const float* p, const Weighted& own,
                     const Weighted& other, void* dx) const override {
    const float peak = 1 - layer_.label_smoothing();
    const float spread = layer_.label_smoothing() / span.classes;
    float factor[kSoftmaxWidth];
    for (int j = 0; j < span.width; ++j) factor[j] = own.factor[j] + other.factor[j];
    functions().loss_backward(span, p, factor, spread, dx);
    for (int j = 0; j < span.width; ++j) {
      for (const Weighted* of : {&own, &other}) {
        if (of->factor[j] == 0) continue;
        const int64_t label = of->labels[j], i = label * span.stride + j;
        float weight = 0;  // of the label in both
        for (const Weighted* each : {&own, &other}) {
          if (each->factor[j] != 0 && each->labels[j] == label) weight += each->factor[j];
        }
        StoreElement(dx, i, type(), factor[j] * (p[i] - spread) - weight * peak);
      }
    }
  }

 private:
  const SoftmaxWithLossLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cpu/SoftmaxWithLoss",
            KernelOf<SoftmaxWithLossLayer, SoftmaxWithLossKernel>);

}  // namespace
}  // namespace gf
