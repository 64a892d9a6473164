#include "layers/softmax_with_loss.h"

#include <cmath>

#include "layers/cpu/softmax_spans.h"
#include "layers/kernel.h"
#include "layers/labels.h"

namespace gf {
namespace {

class SoftmaxWithLossKernel : public Kernel {
 public:
  SoftmaxWithLossKernel(const SoftmaxWithLossLayer& layer, const KernelContext& context)
      : layer_(layer), type_(context.compute), functions_(ForType(Softmax(), type_)) {}

  void Plan(KernelPlan* plan) override {
    for (TensorDesc& bottom : plan->bottoms) bottom.layout = Layout();
    for (TensorDesc& top : plan->tops) top.layout = Layout();
    backward_ = plan->backward && plan->propagate[0];
    plan->needs_bottom[1] = backward_;
    if (backward_) plan->saved_bytes = plan->bottoms[0].shape.count() * sizeof(float);
    plan->forward_scratch_bytes = layer_.view().predictions() * sizeof(float);
  }

  void Forward(const KernelArgs& args) override {
    const ClassAxis& view = layer_.view();
    const int64_t samples = CountedSamples(args, view);
    const auto* labels = static_cast<const int64_t*>(args.bottoms[1]);
    const int64_t counted = Check(labels, samples);
    auto* losses = static_cast<float*>(args.scratch);
    ForSoftmaxSpans(view, [&](int64_t outer, int64_t inner, const SoftmaxSpan& span) {
      const int64_t at = SpanStart(view, outer, inner);
      const void* x = At(args.bottoms[0], at, type_);
      SoftmaxSums sums;
      functions_.sums(span, x, &sums);
      for (int j = 0; j < span.width; ++j) {
        const int64_t i = outer * view.inner + inner + j;
        const bool counts = outer < samples && !layer_.Ignored(labels[i]);
        losses[i] = counts ? Loss(sums, j, x, labels[i] * view.inner + j) : 0;
      }
      if (args.tops.size() > 1) {
        functions_.normalize(span, x, sums, At(args.tops[1], at, type_));
      }
      if (backward_) {
        functions_.normalize_fp32(span, x, sums, static_cast<float*>(args.saved) + at);
      }
    });
    // The order does not depend on the number of threads.
    double sum = 0;
    for (int64_t i = 0; i < view.predictions(); ++i) sum += losses[i];
    normalizer_ = layer_.Normalizer(counted, samples);
    *static_cast<float*>(args.tops[0]) = static_cast<float>(sum / normalizer_);
  }

  void Backward(const KernelArgs& args) override {
    if (args.top_diffs.size() > 1 && !args.top_diffs[1].empty()) {
      layer_.Fail(
          "no gradient can flow through its probabilities (top 1); compute them with a "
          "Softmax layer");
    }
    const ClassAxis& view = layer_.view();
    const int64_t samples = CountedSamples(args, view);
    const auto* labels = static_cast<const int64_t*>(args.bottoms[1]);
    const float scale = static_cast<float>(layer_.LossWeight(0) *
                                           static_cast<double>(args.loss_scale) / normalizer_);
    const float spread = layer_.label_smoothing() / view.classes;
    const float target = 1 - layer_.label_smoothing() + spread;
    ForSoftmaxSpans(view, [&](int64_t outer, int64_t inner, const SoftmaxSpan& span) {
      const int64_t at = SpanStart(view, outer, inner);
      const float* p = static_cast<const float*>(args.saved) + at;
      void* dx = At(args.bottom_diffs[0], at, type_);
      const int64_t* label = labels + outer * view.inner + inner;
      float factor[kSoftmaxWidth];
      for (int j = 0; j < span.width; ++j) {
        factor[j] = outer < samples && !layer_.Ignored(label[j]) ? scale : 0;
      }
      functions_.loss_backward(span, p, factor, spread, dx);
      for (int j = 0; j < span.width; ++j) {
        if (factor[j] == 0) continue;
        const int64_t i = label[j] * view.inner + j;
        StoreElement(dx, i, type_, factor[j] * (p[i] - target));
      }
    });
  }

 private:
  // Returns the number of predictions that are not ignored. Fails if a label is out of range.
  int64_t Check(const int64_t* labels, int64_t samples) const {
    const ClassAxis& view = layer_.view();
    int64_t counted = 0;
    for (int64_t outer = 0; outer < samples; ++outer) {
      for (int64_t inner = 0; inner < view.inner; ++inner) {
        if (layer_.Ignored(labels[outer * view.inner + inner])) continue;
        CheckedLabel(layer_, view, labels, outer, inner);
        ++counted;
      }
    }
    return counted;
  }

  // -sum of target * log(probability), where log(probability) = x - max - log(sum).
  float Loss(const SoftmaxSums& sums, int j, const void* x, int64_t label) const {
    const float smoothing = layer_.label_smoothing();
    float loss = (1 - smoothing) * (sums.max[j] - LoadElement(x, label, type_));
    if (smoothing > 0) loss += smoothing * sums.deficit[j] / layer_.view().classes;
    return loss + std::log(sums.sum[j]);
  }

  const SoftmaxWithLossLayer& layer_;
  DType type_;
  const SoftmaxFunctions& functions_;
  bool backward_ = false;
  double normalizer_ = 1;
};

GF_REGISTER(KernelRegistry, "cpu/SoftmaxWithLoss",
            KernelOf<SoftmaxWithLossLayer, SoftmaxWithLossKernel>);

}  // namespace
}  // namespace gf
