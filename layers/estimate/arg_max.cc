#include "layers/arg_max.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class ArgMaxEstimate : public EstimateKernel {
 public:
  ArgMaxEstimate(const ArgMaxLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), passes_(layer.ranking().top_k) {}

 protected:
  void Agree(KernelSetup* setup) override { setup->bottoms[0].layout = Layout(); }
  // A pass over the numbers for each rank.
  void ForwardCost(const KernelArgs&) override {
    Move(OperationKind::kOther, passes_ * Bottom() + Top());
  }

 private:
  const int64_t passes_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/ArgMax", KernelOf<ArgMaxLayer, ArgMaxEstimate>);

}  // namespace
}  // namespace gf
