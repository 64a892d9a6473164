#include "layers/pair_loss.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class PairLossEstimate : public EstimateKernel {
 public:
  PairLossEstimate(const PairLossLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelSetup* setup) override {
    for (TensorDesc& bottom : setup->bottoms) bottom.layout = Layout();
    setup->needs_bottom = {setup->backward, setup->backward};
    setup->saved_bytes = sizeof(float);
    setup->forward_scratch_bytes = 2 * layer_.samples() * sizeof(double);
  }
  // The sums of each sample, then their sum.
  void ForwardCost(const KernelArgs&) override {
    Move(OperationKind::kLoss, Bottom(0) + Bottom(1), 2);
  }
  void BackwardCost(const KernelArgs& args) override {
    int64_t bytes = Bottom(0) + Bottom(1);
    for (const int i : {0, 1}) bytes += args.bottom_diffs[i] != nullptr ? Bottom(i) : 0;
    Move(OperationKind::kLoss, bytes);
  }

 private:
  const PairLossLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/EuclideanLoss",
            KernelOf<PairLossLayer, PairLossEstimate>);
GF_REGISTER(KernelRegistry, "cuda_estimate/SigmoidCrossEntropyLoss",
            KernelOf<PairLossLayer, PairLossEstimate>);

}  // namespace
}  // namespace gf
