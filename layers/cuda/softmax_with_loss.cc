#include "layers/softmax_with_loss.h"

#include "core/config/net.pb.h"
#include "layers/cuda/labels.h"
#include "layers/cuda/softmax_kernels.h"
#include "layers/labels.h"

namespace gf {
namespace {

class SoftmaxWithLossKernel : public Kernel {
 public:
  SoftmaxWithLossKernel(const SoftmaxWithLossLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Setup(KernelSetup* setup) override {
    for (TensorDesc& bottom : setup->bottoms) bottom.layout = Layout();
    for (TensorDesc& top : setup->tops) top.layout = Layout();
    backward_ = setup->backward && setup->propagate[0];
    setup->needs_bottom[1] = backward_;
    CheckRowSize(layer_, layer_.view().classes * layer_.view().inner);
    if (backward_) setup->saved_bytes = setup->bottoms[0].shape.count() * sizeof(float);
    setup->forward_scratch_bytes = layer_.view().predictions() * sizeof(float);
  }

  void Forward(const KernelArgs& args) override {
    const ClassAxis& view = layer_.view();
    const std::vector<int64_t> labels = HostLabels(args, args.bottoms[1], view, context_);
    const int64_t samples = CountedSamples(args, view);
    const int64_t counted = CountLabels(layer_, view, labels, samples,
                                        [&](int64_t label) { return layer_.Ignored(label); });
    normalizer_ = layer_.Normalizer(counted, samples);
    SoftmaxLossForward(Call(args), args.bottoms[0], normalizer_, static_cast<float*>(args.scratch),
                       static_cast<float*>(args.tops[0]),
                       args.tops.size() > 1 ? args.tops[1] : nullptr,
                       backward_ ? static_cast<float*>(args.saved) : nullptr, StreamOf(context_));
  }

  void Backward(const KernelArgs& args) override {
    if (args.top_diffs.size() > 1 && !args.top_diffs[1].empty()) {
      layer_.Fail(
          "no gradient can flow through its probabilities (top 1); compute them with a "
          "Softmax layer");
    }
    const double scale = layer_.LossWeight(0) * static_cast<double>(args.loss_scale) / normalizer_;
    SoftmaxLossGradient(Call(args), static_cast<const float*>(args.saved),
                        static_cast<float>(scale), args.bottom_diffs[0], StreamOf(context_));
  }

 private:
  SoftmaxLoss Call(const KernelArgs& args) const {
    SoftmaxLoss call;
    call.view = layer_.view();
    call.type = context_.compute;
    call.labels = static_cast<const int64_t*>(args.bottoms[1]);
    call.samples = CountedSamples(args, layer_.view());
    call.has_ignored = layer_.param().loss_param().has_ignore_label();
    call.ignored = layer_.param().loss_param().ignore_label();
    call.smoothing = layer_.label_smoothing();
    return call;
  }

  const SoftmaxWithLossLayer& layer_;
  const KernelContext context_;
  bool backward_ = false;
  double normalizer_ = 1;
};

GF_REGISTER(KernelRegistry, "cuda/SoftmaxWithLoss",
            KernelOf<SoftmaxWithLossLayer, SoftmaxWithLossKernel>);

}  // namespace
}  // namespace gf
