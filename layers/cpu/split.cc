#include "layers/split.h"

#include <cstring>
#include <vector>

#include "layers/cpu/elementwise.h"
#include "layers/cpu/eltwise_kernels.h"
#include "layers/kernel.h"

namespace gf {
namespace {

class SplitKernel : public Kernel {
 public:
  SplitKernel(const SplitLayer& layer, const KernelContext& context)
      : sum_(ForType(Eltwise(), context.compute).sum) {}

  void Plan(KernelPlan* plan) override {
    for (TensorDesc& top : plan->tops) top.layout = plan->bottoms[0].layout;
    count_ = plan->bottoms[0].storage_count();
    bytes_ = plan->bottoms[0].bytes();
    plan->in_place = plan->in_place_backward = true;
  }

  void Forward(const KernelArgs& args) override {
    for (void* top : args.tops) CopyStorage(args.bottoms[0], top, bytes_);
  }

  // The sum of the tops' gradients; a top that nobody uses has none.
  void Backward(const KernelArgs& args) override {
    std::vector<const void*> diffs;
    for (const auto& top : args.top_diffs) diffs.insert(diffs.end(), top.begin(), top.end());
    if (diffs.empty()) {
      std::memset(args.bottom_diffs[0], 0, bytes_);
      return;
    }
    const std::vector<float> ones(diffs.size(), 1);
    EltwiseCall call;
    call.bottoms = diffs.data();
    call.count = static_cast<int>(diffs.size());
    call.coefficients = ones.data();
    call.top = args.bottom_diffs[0];
    ParallelFor(count_, kElementGrain, [&](int64_t begin, int64_t end) { sum_(call, begin, end); });
  }

 private:
  EltwiseFunction sum_;
  int64_t count_ = 0;
  size_t bytes_ = 0;
};

GF_REGISTER(KernelRegistry, "cpu/Split", KernelOf<SplitLayer, SplitKernel>);

}  // namespace
}  // namespace gf
