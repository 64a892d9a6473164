#include "layers/hinge_loss.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class HingeLossEstimate : public EstimateKernel {
 public:
  HingeLossEstimate(const HingeLossLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelSetup* setup) override { SetUpHingeLoss(layer_, setup); }
  // The loss of each sample, then their sum.
  void ForwardCost(const KernelArgs&) override {
    Move(OperationKind::kLoss, Bottom(0) + Bottom(1), 2);
  }
  void BackwardCost(const KernelArgs&) override {
    Move(OperationKind::kLoss, 2 * Bottom(0) + Bottom(1));
  }

 private:
  const HingeLossLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/HingeLoss", KernelOf<HingeLossLayer, HingeLossEstimate>);

}  // namespace
}  // namespace gf
