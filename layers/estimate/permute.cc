#include "layers/permute.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class PermuteEstimate : public EstimateKernel {
 public:
  PermuteEstimate(const PermutingLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelSetup* setup) override {
    if (!layer_.TakesChannelsLast()) setup->bottoms[0].layout = Layout();
    setup->tops[0].layout = setup->bottoms[0].layout;
  }
  void ForwardCost(const KernelArgs&) override { Move(OperationKind::kOther, Bottom() + Top()); }
  void BackwardCost(const KernelArgs&) override { Move(OperationKind::kOther, Bottom() + Top()); }

 private:
  const PermutingLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Permute", KernelOf<PermutingLayer, PermuteEstimate>);
GF_REGISTER(KernelRegistry, "cuda_estimate/ShuffleChannel",
            KernelOf<PermutingLayer, PermuteEstimate>);

}  // namespace
}  // namespace gf
