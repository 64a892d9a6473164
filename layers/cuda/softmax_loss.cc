#include "layers/cuda/softmax_loss.h"

#include <vector>

#include "layers/cuda/labels.h"

namespace gf {

void CudaSoftmaxLossKernel::Setup(KernelSetup* setup) {
  for (TensorDesc& bottom : setup->bottoms) bottom.layout = Layout();
  for (TensorDesc& top : setup->tops) top.layout = Layout();
  backward_ = setup->backward && setup->propagate[0];
  setup->needs_bottom[1] = backward_;
  CheckRowSize(layer_, layer_.view().classes * layer_.view().inner);
  if (backward_) setup->saved_bytes = setup->bottoms[0].shape.count() * sizeof(float);
  setup->forward_scratch_bytes = layer_.view().predictions() * sizeof(float);
  const std::vector<float>& weights = layer_.class_weights();
  if (weights.empty()) return;
  class_weights_ = context_.device->Allocate(weights.size() * sizeof(float));
  context_.device->CopyFromHost(weights.data(), class_weights_.get(),
                                weights.size() * sizeof(float), context_.device->compute_stream());
}

void CudaSoftmaxLossKernel::Forward(const KernelArgs& args) {
  const ClassAxis& view = layer_.view();
  share_ = LabelShare(layer_, args, view.outer);
  const std::vector<int64_t> labels = HostLabels(args, args.bottoms[1], view, context_);
  const SoftmaxLoss call = Call(args);
  normalizer_ = layer_.Normalizer(labels.data(), call.samples);
  SoftmaxLossResults results;
  results.losses = static_cast<float*>(args.scratch);
  results.loss = static_cast<float*>(args.tops[0]);
  if (args.tops.size() > 1) results.probabilities = args.tops[1];
  if (backward_) results.saved = static_cast<float*>(args.saved);
  Losses(call, args.bottoms[0], normalizer_, results);
}

void CudaSoftmaxLossKernel::Backward(const KernelArgs& args) {
  if (args.top_diffs.size() > 1 && !args.top_diffs[1].empty()) {
    layer_.Fail(
        "no gradient can flow through its probabilities (top 1); compute them with a "
        "Softmax layer");
  }
  const double scale = layer_.LossWeight(0) * static_cast<double>(args.loss_scale) / normalizer_;
  Gradient(Call(args), static_cast<const float*>(args.saved), static_cast<float>(scale),
           args.bottom_diffs[0]);
}

SoftmaxLoss CudaSoftmaxLossKernel::Call(const KernelArgs& args) const {
  SoftmaxLoss call;
  call.view = layer_.view();
  call.type = context_.compute;
  call.labels = static_cast<const int64_t*>(args.bottoms[1]);
  call.samples = CountedSamples(args, layer_.view().outer);
  call.has_ignored = layer_.has_ignored();
  call.ignored = layer_.ignored();
  call.smoothing = layer_.label_smoothing();
  call.class_weights = static_cast<const float*>(class_weights_.get());
  call.sum_of_class_weights = static_cast<float>(layer_.sum_of_class_weights());
  call.share = share_;
  return call;
}

}  // namespace gf
