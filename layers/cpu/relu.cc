#include "layers/relu.h"

#include "layers/cpu/elementwise.h"
#include "layers/cpu/relu_kernels.h"
#include "layers/kernel.h"

namespace gf {
namespace {

class ReluKernel : public Kernel {
 public:
  ReluKernel(const ReluLayer& layer, const KernelContext& context)
      : slope_(layer.negative_slope()), functions_(ForType(Relu(), context.compute)) {}

  // A negative slope makes the top positive for negative bottoms: its sign does not tell.
  void Plan(KernelPlan* plan) override {
    plan->tops[0].layout = plan->bottoms[0].layout;
    count_ = plan->bottoms[0].storage_count();
    from_top_ = slope_ >= 0;
    plan->needs_top[0] = plan->backward && from_top_;
    plan->needs_bottom[0] = plan->backward && !from_top_;
    plan->in_place = !plan->needs_bottom[0];
    plan->in_place_backward = true;
  }

  void Forward(const KernelArgs& args) override {
    ParallelFor(count_, kElementGrain, [&](int64_t begin, int64_t end) {
      functions_.forward(args.bottoms[0], args.tops[0], slope_, begin, end);
    });
  }

  void Backward(const KernelArgs& args) override {
    const void* sign = from_top_ ? args.tops[0] : args.bottoms[0];
    ParallelFor(count_, kElementGrain, [&](int64_t begin, int64_t end) {
      functions_.backward(args.top_diffs[0][0], sign, args.bottom_diffs[0], slope_, begin, end);
    });
  }

 private:
  float slope_;
  const ReluFunctions& functions_;
  int64_t count_ = 0;
  bool from_top_ = true;
};

GF_REGISTER(KernelRegistry, "cpu/ReLU", KernelOf<ReluLayer, ReluKernel>);

}  // namespace
}  // namespace gf
