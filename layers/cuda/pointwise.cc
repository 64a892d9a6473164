#include "layers/pointwise.h"

#include <memory>

#include "layers/cuda/kernel_context.h"
#include "layers/cuda/pointwise_kernels.h"

namespace gf {
namespace {

class PointwiseKernel : public RepeatingKernel {
 public:
  PointwiseKernel(const Pointwise& function, const KernelContext& context)
      : function_(function), context_(context) {}

  void Setup(KernelSetup* setup) override {
    SetUpActivation(/*from_top=*/false, setup);
    count_ = setup->bottoms[0].storage_count();
  }

  void Forward(const KernelArgs& args) override {
    ApplyPointwise(function_, context_.compute, args.bottoms[0], args.tops[0], count_,
                   StreamOf(context_));
  }

  void Backward(const KernelArgs& args) override {
    PointwiseGradient(function_, context_.compute, args.bottoms[0], args.top_diffs[0][0],
                      args.bottom_diffs[0], count_, StreamOf(context_));
  }

 private:
  const Pointwise function_;
  const KernelContext context_;
  int64_t count_ = 0;
};

const bool registered =
    AddPointwiseKernels("cuda", [](const PointwiseLayer& layer, const KernelContext& context) {
      return std::make_unique<PointwiseKernel>(layer.function(), context);
    });

}  // namespace
}  // namespace gf
