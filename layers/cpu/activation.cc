// ReLU by our own kernels; Sigmoid and TanH by oneDNN, with the gradient from the top.

#include "layers/activation.h"

#include "layers/cpu/dnnl_activation.h"
#include "layers/cpu/elementwise.h"
#include "layers/cpu/relu_kernels.h"
#include "layers/kernel.h"

namespace gf {
namespace {

using dnnl::algorithm;

class ReluKernel : public Kernel {
 public:
  ReluKernel(const ReluLayer& layer, const KernelContext& context)
      : slope_(layer.negative_slope()),
        from_top_(layer.gradient_from_top()),
        functions_(ForType(Relu(), context.compute)) {}

  void Setup(KernelSetup* setup) override {
    SetUpActivation(from_top_, setup);
    count_ = setup->bottoms[0].storage_count();
  }

  void Forward(const KernelArgs& args) override {
    ParallelFor(count_, kElementGrain, [&](int64_t begin, int64_t end) {
      functions_.forward(args.bottoms[0], args.tops[0], slope_, begin, end);
    });
  }

  void Backward(const KernelArgs& args) override {
    const void* sign = from_top_ ? args.tops[0] : args.bottoms[0];
    ParallelFor(count_, kElementGrain, [&](int64_t begin, int64_t end) {
      functions_.backward(args.top_diffs[0][0], sign, args.bottom_diffs[0], slope_, begin, end);
    });
  }

 private:
  const float slope_;
  const bool from_top_;
  const ReluFunctions& functions_;
  int64_t count_ = 0;
};

GF_REGISTER(KernelRegistry, "cpu/ReLU", KernelOf<ReluLayer, ReluKernel>);

class SigmoidKernel : public DnnlActivation {
 public:
  SigmoidKernel(const SigmoidLayer&, const KernelContext&)
      : DnnlActivation({algorithm::eltwise_logistic, algorithm::eltwise_logistic_use_dst_for_bwd,
                        /*alpha=*/0, /*from_top=*/true}) {}
};

class TanhKernel : public DnnlActivation {
 public:
  TanhKernel(const TanhLayer&, const KernelContext&)
      : DnnlActivation({algorithm::eltwise_tanh, algorithm::eltwise_tanh_use_dst_for_bwd,
                        /*alpha=*/0, /*from_top=*/true}) {}
};

GF_REGISTER(KernelRegistry, "cpu/Sigmoid", KernelOf<SigmoidLayer, SigmoidKernel>);
GF_REGISTER(KernelRegistry, "cpu/TanH", KernelOf<TanhLayer, TanhKernel>);

}  // namespace
}  // namespace gf
