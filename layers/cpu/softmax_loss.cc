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
  share_ = LabelShare(layer_, args, view.outer);
  const int64_t samples = CountedSamples(args, view.outer);
  const auto* labels = static_cast<const int64_t*>(args.bottoms[1]);
  normalizer_ = layer_.Normalizer(labels, samples);
  const float* const weights =
      layer_.class_weights().empty() ? nullptr : layer_.class_weights().data();
  auto* losses = static_cast<float*>(args.scratch);
  ForSoftmaxSpans(view, [&](int64_t outer, int64_t inner, const SoftmaxSpan& span) {
    const int64_t at = SpanStart(view, outer, inner);
    const void* x = At(args.bottoms[0], at, type_);
    SoftmaxSums sums;
    functions_.sums(span, x, weights, &sums);
    for (int j = 0; j < span.width; ++j) {
      const auto loss_of = [&](int64_t sample) {
        const int64_t label = labels[sample * view.inner + inner + j];
        const bool counts = sample < samples && !layer_.Ignored(label);
        return counts ? Loss(span, sums, j, x, label) : 0;
      };
      float loss = loss_of(outer);
      if (share_ < 1) loss = share_ * loss + (1 - share_) * loss_of(MixedImage(outer, view.outer));
      losses[outer * view.inner + inner + j] = loss;
    }
    if (args.tops.size() > 1) {
      functions_.normalize(span, x, sums, At(args.tops[1], at, type_));
    }
    if (backward_) {
      functions_.normalize_fp32(span, x, sums, static_cast<float*>(args.saved) + at);
    }
  });
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
    const float* const p = static_cast<const float*>(args.saved) + at;
    void* const dx = At(args.bottom_diffs[0], at, type_);
    const auto weighted = [&](int64_t sample, float factor) {
      Weighted of = {labels + sample * view.inner + inner, {}};
      for (int j = 0; j < span.width; ++j) {
        of.factor[j] = sample < samples && !layer_.Ignored(of.labels[j]) ? factor : 0;
      }
      return of;
    };
    if (share_ == 1) return Gradient(span, p, weighted(outer, scale), dx);
    MixedGradient(span, p, weighted(outer, share_ * scale),
                  weighted(MixedImage(outer, view.outer), (1 - share_) * scale), dx);
  });
}

void SoftmaxLossKernel::MixedGradient(const SoftmaxSpan&, const float*, const Weighted&,
                                      const Weighted&, void*) const {
  layer_.Fail("cannot mix labels; use SoftmaxWithLoss, or leave out train_data.mix");
}

}  // namespace gf
