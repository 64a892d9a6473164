// ReLU, Sigmoid and TanH.

#include "layers/activation.h"

#include "layers/cuda/kernel_context.h"
#include "layers/cuda/relu_kernels.h"

namespace gf {
namespace {

class ReluKernel : public RepeatingKernel {
 public:
  ReluKernel(const ReluLayer& layer, const KernelContext& context)
      : slope_(layer.negative_slope()), from_top_(layer.gradient_from_top()), context_(context) {}

  void Setup(KernelSetup* setup) override {
    SetUpActivation(from_top_, setup);
    count_ = setup->bottoms[0].storage_count();
  }

  void Forward(const KernelArgs& args) override {
    Relu(context_.compute, args.bottoms[0], args.tops[0], slope_, count_, StreamOf(context_));
  }

  void Backward(const KernelArgs& args) override {
    ReluGradient(context_.compute, args.top_diffs[0][0], from_top_ ? args.tops[0] : args.bottoms[0],
                 args.bottom_diffs[0], slope_, count_, StreamOf(context_));
  }

 private:
  const float slope_;
  const bool from_top_;
  const KernelContext context_;
  int64_t count_ = 0;
};

template <Activation kWhich>
class ActivationKernel : public RepeatingKernel {
 public:
  ActivationKernel(const Layer&, const KernelContext& context) : context_(context) {}

  void Setup(KernelSetup* setup) override {
    SetUpActivation(/*from_top=*/true, setup);
    count_ = setup->bottoms[0].storage_count();
  }

  void Forward(const KernelArgs& args) override {
    Activate(kWhich, context_.compute, args.bottoms[0], args.tops[0], count_, StreamOf(context_));
  }

  void Backward(const KernelArgs& args) override {
    ActivationGradient(kWhich, context_.compute, args.tops[0], args.top_diffs[0][0],
                       args.bottom_diffs[0], count_, StreamOf(context_));
  }

 private:
  const KernelContext context_;
  int64_t count_ = 0;
};

GF_REGISTER(KernelRegistry, "cuda/ReLU", KernelOf<ReluLayer, ReluKernel>);
GF_REGISTER(KernelRegistry, "cuda/Sigmoid",
            KernelOf<SigmoidLayer, ActivationKernel<Activation::kSigmoid>>);
GF_REGISTER(KernelRegistry, "cuda/TanH", KernelOf<TanhLayer, ActivationKernel<Activation::kTanh>>);

}  // namespace
}  // namespace gf
