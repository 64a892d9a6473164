#include "layers/softmax_with_loss.h"

#include <cmath>
#include <initializer_list>
#include <vector>

#include "layers/cpu/elementwise.h"
#include "layers/cpu/softmax_loss.h"

namespace gf {
namespace {

class SoftmaxWithLossKernel : public SoftmaxLossKernel {
 public:
  SoftmaxWithLossKernel(const SoftmaxWithLossLayer& layer, const KernelContext& context)
      : SoftmaxLossKernel(layer, context),
        layer_(layer),
        class_weights_(layer.class_weights()),
        sum_of_class_weights_(static_cast<float>(layer.sum_of_class_weights())) {}

 protected:
  // -sum of weight * target * log(probability), where log(probability) = x - max - log(sum).
  float Loss(const SoftmaxSpan& span, const SoftmaxSums& sums, int j, const void* x,
             int64_t label) const override {
    const float smoothing = layer_.label_smoothing();
    const float above = sums.max[j] - LoadElement(x, label * span.stride + j, type());
    const float log_sum = std::log(sums.sum[j]);
    if (class_weights_.empty()) {
      float loss = (1 - smoothing) * above;
      if (smoothing > 0) loss += smoothing * sums.deficit[j] / span.classes;
      return loss + log_sum;
    }
    float loss = (1 - smoothing) * class_weights_[label] * (above + log_sum);
    if (smoothing > 0) {
      loss += smoothing * (sums.deficit[j] + sum_of_class_weights_ * log_sum) / span.classes;
    }
    return loss;
  }

  void Gradient(const SoftmaxSpan& span, const float* p, const Weighted& own,
                void* dx) const override {
    if (!class_weights_.empty()) return WeightedGradient(span, p, {&own}, dx);
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
    if (!class_weights_.empty()) return WeightedGradient(span, p, {&own, &other}, dx);
    const float peak = 1 - layer_.label_smoothing();
    const float spread = layer_.label_smoothing() / span.classes;
    float factor[kSoftmaxWidth];
    for (int j = 0; j < span.width; ++j) factor[j] = own.factor[j] + other.factor[j];
    functions().loss_backward(span, p, factor, spread, dx);
    ForLabels(span, {&own, &other}, [&](int j, int64_t label, float of_label) {
      const int64_t i = label * span.stride + j;
      StoreElement(dx, i, type(), factor[j] * (p[i] - spread) - of_label * peak);
    });
  }

 private:
  using Labels = std::initializer_list<const Weighted*>;

  // Calls body(j, label, sum of its factors) for the labels of each softmax that count.
  template <typename Body>
  static void ForLabels(const SoftmaxSpan& span, const Labels& labels, const Body& body) {
    for (int j = 0; j < span.width; ++j) {
      for (const Weighted* of : labels) {
        if (of->factor[j] == 0) continue;
        float sum = 0;
        for (const Weighted* each : labels) {
          if (each->factor[j] != 0 && each->labels[j] == of->labels[j]) sum += each->factor[j];
        }
        body(j, of->labels[j], sum);
      }
    }
  }

  // p * (sum of weight * target) - weight * target, for the labels together.
  void WeightedGradient(const SoftmaxSpan& span, const float* p, const Labels& labels,
                        void* dx) const {
    const float peak = 1 - layer_.label_smoothing();
    const float spread = layer_.label_smoothing() / span.classes;
    float factor[kSoftmaxWidth], target[kSoftmaxWidth];
    for (int j = 0; j < span.width; ++j) {
      factor[j] = target[j] = 0;
      for (const Weighted* of : labels) {
        if (of->factor[j] == 0) continue;
        const float own = class_weights_[of->labels[j]];
        factor[j] += of->factor[j] * (peak * own + spread * sum_of_class_weights_);
        target[j] += of->factor[j] * spread;
      }
    }
    functions().weighted_loss_backward(span, p, factor, target, class_weights_.data(), dx);
    ForLabels(span, labels, [&](int j, int64_t label, float of_label) {
      const int64_t i = label * span.stride + j;
      const float pulled = class_weights_[label] * (target[j] + of_label * peak);
      StoreElement(dx, i, type(), factor[j] * p[i] - pulled);
    });
  }

  const SoftmaxWithLossLayer& layer_;
  const std::vector<float>& class_weights_;
  const float sum_of_class_weights_;
};

GF_REGISTER(KernelRegistry, "cpu/SoftmaxWithLoss",
            KernelOf<SoftmaxWithLossLayer, SoftmaxWithLossKernel>);

}  // namespace
}  // namespace gf
