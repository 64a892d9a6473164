#include "layers/interp.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class InterpEstimate : public EstimateKernel {
 public:
  InterpEstimate(const InterpLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context) {}

 protected:
  void Agree(KernelSetup* setup) override {
    setup->bottoms[0].layout = WantedLayout(setup->bottoms[0].shape);
    setup->tops[0].layout = WantedLayout(setup->tops[0].shape);
  }
  // Neighbors are served by the caches: each element is read from memory once.
  void ForwardCost(const KernelArgs&) override { Move(OperationKind::kOther, Bottom() + Top()); }
  void BackwardCost(const KernelArgs&) override { Move(OperationKind::kOther, Bottom() + Top()); }
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Interp", KernelOf<InterpLayer, InterpEstimate>);

}  // namespace
}  // namespace gf
