#include "layers/crop.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class CropEstimate : public EstimateKernel {
 public:
  CropEstimate(const CropLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context) {}

 protected:
  void Agree(KernelSetup* setup) override {
    TensorDesc& top = setup->tops[0];
    top.layout = setup->bottoms[0].layout.plain() ? Layout() : WantedLayout(top.shape);
  }
  // Only what the top holds is read.
  void ForwardCost(const KernelArgs&) override { Move(OperationKind::kOther, 2 * Top()); }
  void BackwardCost(const KernelArgs&) override { Move(OperationKind::kOther, Bottom() + Top()); }
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Crop", KernelOf<CropLayer, CropEstimate>);

}  // namespace
}  // namespace gf
