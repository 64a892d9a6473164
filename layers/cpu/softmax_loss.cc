#include "layers/cpu/softmax_loss.h"

#include "layers/cpu/mean_loss.h"
#include "layers/cpu/softmax_spans.h"
#include "layers/labels.h"

namespace gf {

SoftmaxLossKernel::SoftmaxLossKernel(const SoftmaxWithLossLayer& layer,
                                     const KernelContext& context)
    : layer_(layer), type_(context.compute), functions_(ForType(Softmax(), type_)) {}

void SoftmaxLossKernel::Setup(KernelSetup* setup) {
  for (TensorDesc& bottom : setup->bottoms) bottom.layout = Layout();
  for (TensorDesc& top : setup->tops) top.layout = Layout();
  backward_ = setup->backward && setup->propagate[0];
  setup->needs_bottom[1] = backward_;
  if (backward_) setup->saved_bytes = setup->bottoms[0].shape.count() * sizeof(float);
  setup->forward_scratch_bytes = layer_.view().predictions() * sizeof(float);
}

void SoftmaxLossKernel::Forward(const KernelArgs& args) {
  const ClassAxis& view = layer_.view();
  const int64_t samples = CountedSamples(args, view.outer);
  const auto* labels = static_cast<const int64_t*>(args.bottoms[1]);
  const int64_t counted = CountLabels(layer_, view, labels, samples,
                                      [&](int64_t label) { return layer_.Ignored(label); });
  auto* losses = static_cast<float*>(args.scratch);
  ForSoftmaxSpans(view, [&](int64_t outer, int64_t inner, const SoftmaxSpan& span) {
    const int64_t at = SpanStart(view, outer, inner);
    const void* x = At(args.bottoms[0], at, type_);
    SoftmaxSums sums;
    functions_.sums(span, x, &sums);
    for (int j = 0; j < span.width; ++j) {
      const int64_t i = outer * view.inner + inner + j;
      const bool counts = outer < samples && !layer_.Ignored(labels[i]);
      losses[i] = counts ? Loss(span, sums, j, x, labels[i]) : 0;
    }
    if (args.tops.size() > 1) {
      functions_.normalize(span, x, sums, At(args.tops[1], at, type_));
    }
    if (backward_) {
      functions_.normalize_fp32(span, x, sums, static_cast<float*>(args.saved) + at);
    }
  });
  normalizer_ = layer_.Normalizer(counted, samples);
  *static_cast<float*>(args.tops[0]) = MeanLoss(losses, view.predictions(), normalizer_);
}

void SoftmaxLossKernel::Backward(const KernelArgs& args) {
  if (args.top_diffs.size() > 1 && !args.top_diffs[1].empty()) {
    layer_.Fail(
        "no gradient can flow through its probabilities (top 1); compute them with a "
        "Softmax layer");
  }
  const ClassAxis& view = layer_.view();
  const int64_t samples = CountedSamples(args, view.outer);
  const auto* labels = static_cast<const int64_t*>(args.bottoms[1]);
  const float scale =
      static_cast<float>(layer_.LossWeight(0) * static_cast<double>(args.loss_scale) / normalizer_);
  ForSoftmaxSpans(view, [&](int64_t outer, int64_t inner, const SoftmaxSpan& span) {
    const int64_t at = SpanStart(view, outer, inner);
    const int64_t* label = labels + outer * view.inner + inner;
    float factor[kSoftmaxWidth];
    for (int j = 0; j < span.width; ++j) {
      factor[j] = outer < samples && !layer_.Ignored(label[j]) ? scale : 0;
    }
    Gradient(span, static_cast<const float*>(args.saved) + at, label, factor,
             At(args.bottom_diffs[0], at, type_));
  });
}

}  // namespace gf
