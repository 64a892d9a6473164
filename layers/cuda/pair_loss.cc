#include "layers/pair_loss.h"

#include "core/config/net.pb.h"
#include "layers/cuda/kernel_context.h"
#include "layers/cuda/pair_loss_kernels.h"
#include "layers/labels.h"

namespace gf {
namespace {

class PairLossKernel : public Kernel {
 public:
  PairLossKernel(const PairLossLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Setup(KernelSetup* setup) override {
    for (TensorDesc& bottom : setup->bottoms) bottom.layout = Layout();
    setup->needs_bottom = {setup->backward, setup->backward};
    setup->saved_bytes = sizeof(float);
    setup->forward_scratch_bytes = 2 * layer_.samples() * sizeof(double);
  }

  void Forward(const KernelArgs& args) override {
    PairLossForward(Call(args), args.bottoms[0], args.bottoms[1],
                    static_cast<double*>(args.scratch), static_cast<float*>(args.tops[0]),
                    static_cast<float*>(args.saved), StreamOf(context_));
  }

  void Backward(const KernelArgs& args) override {
    PairLossGradient(Call(args), layer_.samples(), args.bottoms[0], args.bottoms[1],
                     static_cast<const float*>(args.saved), layer_.LossWeight(0) * args.loss_scale,
                     args.bottom_diffs[0], args.bottom_diffs[1], StreamOf(context_));
  }

 private:
  PairLoss Call(const KernelArgs& args) const {
    PairLoss call;
    call.type = context_.compute;
    call.euclidean = layer_.is_euclidean();
    call.samples = CountedSamples(args, layer_.samples());
    call.inner = layer_.inner();
    call.has_ignored = layer_.has_ignored();
    call.ignored = layer_.ignored();
    // The only normalizer that depends on the pairs that count.
    const double none = layer_.Normalizer(0, call.samples);
    const double more = layer_.Normalizer(call.samples * call.inner + 1, call.samples);
    call.normalizer = none == more ? none : 0;
    return call;
  }

  const PairLossLayer& layer_;
  const KernelContext context_;
};

GF_REGISTER(KernelRegistry, "cuda/EuclideanLoss", KernelOf<PairLossLayer, PairLossKernel>);
GF_REGISTER(KernelRegistry, "cuda/SigmoidCrossEntropyLoss",
            KernelOf<PairLossLayer, PairLossKernel>);

}  // namespace
}  // namespace gf
