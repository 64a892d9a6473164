#include "layers/dropout.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class DropoutEstimate : public EstimateKernel {
 public:
  DropoutEstimate(const DropoutLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelSetup* setup) override {
    setup->tops[0].layout = setup->bottoms[0].layout;
    setup->in_place = setup->in_place_backward = true;
    if (!layer_.identity()) setup->saved_bytes = setup->bottoms[0].storage_count();
  }
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
  const DropoutLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Dropout", KernelOf<DropoutLayer, DropoutEstimate>);

}  // namespace
}  // namespace gf
