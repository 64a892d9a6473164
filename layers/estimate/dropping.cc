#include "layers/dropping.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

// Dropout and StochasticDepth.
class DroppingEstimate : public EstimateKernel {
 public:
  DroppingEstimate(const DroppingLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelSetup* setup) override { SetUpDropping(layer_, setup); }
  void ForwardCost(const KernelArgs& args) override {
    if (layer_.identity()) {
      return Copy(OperationKind::kEltwise, args.bottoms[0], args.tops[0], Bottom());
    }
    Move(OperationKind::kEltwise, Bottom() + Top() + Saved());
  }
  void BackwardCost(const KernelArgs& args) override {
    if (layer_.identity()) {
      return Copy(OperationKind::kEltwise, args.top_diffs[0][0], args.bottom_diffs[0], Bottom());
    }
    Move(OperationKind::kEltwise, Bottom() + Top() + Saved());
  }

 private:
  const DroppingLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Dropout", KernelOf<DroppingLayer, DroppingEstimate>);
GF_REGISTER(KernelRegistry, "cuda_estimate/StochasticDepth",
            KernelOf<DroppingLayer, DroppingEstimate>);

}  // namespace
}  // namespace gf
