// Flatten and Reshape: the elements stay as they are.

#include "layers/reshape.h"

#include "layers/cpu/elementwise.h"
#include "layers/flatten.h"
#include "layers/kernel.h"

namespace gf {
namespace {

class ReshapeKernel : public Kernel {
 public:
  ReshapeKernel(const Layer& layer, const KernelContext& context) {}

  void Plan(KernelPlan* plan) override {
    plan->bottoms[0].layout = plan->tops[0].layout = Layout();
    plan->in_place = plan->in_place_backward = true;
    bytes_ = plan->bottoms[0].bytes();
  }
  void Forward(const KernelArgs& args) override {
    CopyStorage(args.bottoms[0], args.tops[0], bytes_);
  }
  void Backward(const KernelArgs& args) override {
    CopyStorage(args.top_diffs[0][0], args.bottom_diffs[0], bytes_);
  }

 private:
  size_t bytes_ = 0;
};

GF_REGISTER(KernelRegistry, "cpu/Flatten", KernelOf<FlattenLayer, ReshapeKernel>);
GF_REGISTER(KernelRegistry, "cpu/Reshape", KernelOf<ReshapeLayer, ReshapeKernel>);

}  // namespace
}  // namespace gf
