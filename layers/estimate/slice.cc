#include "layers/slice.h"

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class SliceEstimate : public EstimateKernel {
 public:
  SliceEstimate(const SliceLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelSetup* setup) override {
    const bool channels = layer_.axis() == 1 && setup->bottoms[0].shape.rank() > 2;
    const auto set = [&](TensorDesc* desc) {
      desc->layout = channels ? ImageLayout(desc->shape) : Layout();
    };
    set(&setup->bottoms[0]);
    for (TensorDesc& top : setup->tops) set(&top);
  }

  void ForwardCost(const KernelArgs& args) override {
    Move(OperationKind::kOther, 2 * Bottom(), Launches());
  }
  // Where a top has no gradient, zeros fill the bottom's first.
  void BackwardCost(const KernelArgs& args) override {
    int64_t bytes = 0;
    bool unused = false;
    for (size_t i = 0; i < args.top_diffs.size(); ++i) {
      unused = unused || args.top_diffs[i].empty();
      if (!args.top_diffs[i].empty()) bytes += 2 * static_cast<int64_t>(setup().tops[i].bytes());
    }
    if (unused) Move(OperationKind::kOther, Bottom());
    if (bytes > 0) Move(OperationKind::kOther, bytes, Launches());
  }

 private:
  static constexpr size_t kTopsOfLaunch = 16;

  int Launches() const {
    return static_cast<int>((setup().tops.size() + kTopsOfLaunch - 1) / kTopsOfLaunch);
  }

  const SliceLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Slice", KernelOf<SliceLayer, SliceEstimate>);

}  // namespace
}  // namespace gf
