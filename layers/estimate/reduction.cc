#include "layers/reduction.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class ReductionEstimate : public EstimateKernel {
 public:
  ReductionEstimate(const ReductionLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelSetup* setup) override {
    if (layer_.axis() > 1) setup->bottoms[0].layout = Layout();
    setup->needs_bottom[0] = setup->backward && layer_.needs_bottom();
  }
  // The sums of the parts, then their sums.
  void ForwardCost(const KernelArgs&) override {
    Move(OperationKind::kOther, Bottom() + Top(), layer_.parts() > 1 ? 2 : 1);
  }
  void BackwardCost(const KernelArgs& args) override {
    Move(OperationKind::kOther,
         (layer_.needs_bottom() ? 2 : 1) * Bottom() + (args.top_diffs[0].empty() ? 0 : Top()));
  }

 private:
  const ReductionLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Reduction", KernelOf<ReductionLayer, ReductionEstimate>);

}  // namespace
}  // namespace gf
