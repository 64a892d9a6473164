#include "layers/reduction.h"

#include "layers/cuda/kernel_context.h"
#include "layers/cuda/reduction_kernels.h"

namespace gf {
namespace {

class ReductionKernel : public Kernel {
 public:
  ReductionKernel(const ReductionLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  // The order within a row does not matter: rows that hold all channels keep their layout.
  void Setup(KernelSetup* setup) override {
    if (layer_.axis() > 1) setup->bottoms[0].layout = Layout();
    setup->needs_bottom[0] = setup->backward && layer_.needs_bottom();
    CheckRowSize(layer_, layer_.inner());
    call_.type = context_.compute;
    call_.fp32_results = setup->tops[0].dtype == DType::kFP32;
    call_.rows = layer_.rows();
    call_.inner = layer_.inner();
    call_.part = ReductionLayer::kPart;
    call_.parts = layer_.parts();
    call_.absolute = layer_.absolute();
    call_.squared = layer_.squared();
    call_.factor = layer_.factor();
    if (call_.parts > 1) {
      setup->forward_scratch_bytes = call_.rows * call_.parts * sizeof(double);
    }
  }

  void Forward(const KernelArgs& args) override {
    ReduceRows(call_, args.bottoms[0], static_cast<double*>(args.scratch), args.tops[0],
               StreamOf(context_));
  }
  void Backward(const KernelArgs& args) override {
    ReductionGradient(
        call_, args.bottoms[0], args.top_diffs[0].empty() ? nullptr : args.top_diffs[0][0],
        layer_.LossWeight(0) * args.loss_scale, args.bottom_diffs[0], StreamOf(context_));
  }

  // The gradient of a loss depends on its scale.
  bool ForwardRepeats() const override { return true; }
  bool BackwardRepeats() const override { return layer_.LossWeight(0) == 0; }

 private:
  const ReductionLayer& layer_;
  const KernelContext context_;
  Reduction call_;
};

GF_REGISTER(KernelRegistry, "cuda/Reduction", KernelOf<ReductionLayer, ReductionKernel>);

}  // namespace
}  // namespace gf
