#include "layers/contrastive_loss.h"

#include "layers/cuda/contrastive_loss_kernels.h"
#include "layers/cuda/kernel_context.h"
#include "layers/labels.h"

namespace gf {
namespace {

class ContrastiveLossKernel : public Kernel {
 public:
  ContrastiveLossKernel(const ContrastiveLossLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Setup(KernelSetup* setup) override { SetUpContrastiveLoss(layer_, setup); }

  void Forward(const KernelArgs& args) override {
    const ContrastiveLoss call = Call(args);
    ContrastiveLossForward(
        call, args.bottoms[0], args.bottoms[1], static_cast<const int64_t*>(args.bottoms[2]),
        2 * layer_.Normalizer(call.pairs), static_cast<float*>(args.scratch),
        static_cast<float*>(args.saved), static_cast<float*>(args.tops[0]), StreamOf(context_));
  }

  void Backward(const KernelArgs& args) override {
    const ContrastiveLoss call = Call(args);
    const double scale =
        layer_.LossWeight(0) * static_cast<double>(args.loss_scale) / layer_.Normalizer(call.pairs);
    ContrastiveLossGradient(call, args.bottoms[0], args.bottoms[1],
                            static_cast<const float*>(args.saved), static_cast<float>(scale),
                            args.bottom_diffs[0], args.bottom_diffs[1], StreamOf(context_));
  }

 private:
  ContrastiveLoss Call(const KernelArgs& args) const {
    ContrastiveLoss call;
    call.type = context_.compute;
    call.legacy = layer_.legacy();
    call.margin = layer_.margin();
    call.least_distance = kContrastiveLeastDistance;
    call.all = layer_.pairs();
    call.inner = layer_.inner();
    call.pairs = CountedSamples(args, call.all);
    return call;
  }

  const ContrastiveLossLayer& layer_;
  const KernelContext context_;
};

GF_REGISTER(KernelRegistry, "cuda/ContrastiveLoss",
            KernelOf<ContrastiveLossLayer, ContrastiveLossKernel>);

}  // namespace
}  // namespace gf
