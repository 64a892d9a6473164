#include "layers/pointwise.h"

#include <memory>

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class PointwiseEstimate : public EstimateKernel {
 public:
  PointwiseEstimate(const Layer& layer, const KernelContext& context)
      : EstimateKernel(layer, context) {}

 protected:
  void Agree(KernelSetup* setup) override { SetUpActivation(/*from_top=*/false, setup); }
  void ForwardCost(const KernelArgs& args) override {
    Move(OperationKind::kEltwise, Bottom() + Top());
  }
  void BackwardCost(const KernelArgs& args) override {
    Move(OperationKind::kEltwise, 2 * Bottom() + Top());
  }
};

const bool registered = AddPointwiseKernels(
    "cuda_estimate", [](const PointwiseLayer& layer, const KernelContext& context) {
      return std::make_unique<PointwiseEstimate>(layer, context);
    });

}  // namespace
}  // namespace gf
