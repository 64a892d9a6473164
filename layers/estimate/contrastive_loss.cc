#include "layers/contrastive_loss.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class ContrastiveLossEstimate : public EstimateKernel {
 public:
  ContrastiveLossEstimate(const ContrastiveLossLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelSetup* setup) override { SetUpContrastiveLoss(layer_, setup); }
  // The loss of each pair, then their sum.
  void ForwardCost(const KernelArgs&) override {
    Move(OperationKind::kLoss, Bottom(0) + Bottom(1) + Bottom(2) + Saved(), 2);
  }
  void BackwardCost(const KernelArgs& args) override {
    int64_t bytes = Bottom(0) + Bottom(1) + Saved();
    for (const int i : {0, 1}) bytes += args.bottom_diffs[i] != nullptr ? Bottom(i) : 0;
    Move(OperationKind::kLoss, bytes);
  }

 private:
  const ContrastiveLossLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/ContrastiveLoss",
            KernelOf<ContrastiveLossLayer, ContrastiveLossEstimate>);

}  // namespace
}  // namespace gf
