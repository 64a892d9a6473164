#include "layers/hinge_loss.h"

#include <vector>

#include "layers/cuda/hinge_loss_kernels.h"
#include "layers/cuda/labels.h"

namespace gf {
namespace {

class HingeLossKernel : public Kernel {
 public:
  HingeLossKernel(const HingeLossLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Setup(KernelSetup* setup) override { SetUpHingeLoss(layer_, setup); }

  void Forward(const KernelArgs& args) override {
    const ClassAxis& view = layer_.view();
    const std::vector<int64_t> labels = HostLabels(args, args.bottoms[1], view, context_);
    const HingeLoss call = Call(args);
    CountLabels(layer_, view, labels.data(), call.samples, [](int64_t) { return false; });
    HingeLossForward(call, args.bottoms[0], layer_.Normalizer(call.samples),
                     static_cast<float*>(args.scratch), static_cast<float*>(args.tops[0]),
                     StreamOf(context_));
  }

  void Backward(const KernelArgs& args) override {
    const HingeLoss call = Call(args);
    const double scale = layer_.LossWeight(0) * static_cast<double>(args.loss_scale) /
                         layer_.Normalizer(call.samples);
    HingeLossGradient(call, args.bottoms[0], static_cast<float>(scale), args.bottom_diffs[0],
                      StreamOf(context_));
  }

 private:
  HingeLoss Call(const KernelArgs& args) const {
    HingeLoss call;
    call.type = context_.compute;
    call.squared = layer_.squared();
    call.all = layer_.view().outer;
    call.classes = layer_.view().classes;
    call.samples = CountedSamples(args, call.all);
    call.labels = static_cast<const int64_t*>(args.bottoms[1]);
    return call;
  }

  const HingeLossLayer& layer_;
  const KernelContext context_;
};

GF_REGISTER(KernelRegistry, "cuda/HingeLoss", KernelOf<HingeLossLayer, HingeLossKernel>);

}  // namespace
}  // namespace gf
