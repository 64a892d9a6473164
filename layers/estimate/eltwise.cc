#include "layers/eltwise.h"

#include "core/config/net.pb.h"
#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class EltwiseEstimate : public EstimateKernel {
 public:
  EltwiseEstimate(const EltwiseLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelSetup* setup) override {
    constexpr size_t kMost = 32;
    if (setup->bottoms.size() > kMost) {
      layer_.Fail("has ", setup->bottoms.size(), " bottoms, expected at most ", kMost, " on a GPU");
    }
    for (TensorDesc& bottom : setup->bottoms) bottom.layout = setup->bottoms[0].layout;
    setup->tops[0].layout = setup->bottoms[0].layout;
    setup->needs_bottom.assign(setup->bottoms.size(), setup->backward && product());
    setup->needs_top[0] = setup->backward && layer_.relu();
    if (setup->backward && layer_.operation() == EltwiseParameter::MAX) {
      setup->saved_bytes = setup->tops[0].storage_count();  // which bottom was the largest
    }
    setup->in_place = !setup->needs_bottom[0];
    setup->in_place_backward = true;
    setup->max_top_diffs = 4;
  }

  void ForwardCost(const KernelArgs& args) override {
    Move(OperationKind::kEltwise, (Bottoms() + 1) * Top() + Saved());
  }

  void BackwardCost(const KernelArgs& args) override {
    auto tensors = static_cast<int64_t>(args.top_diffs[0].size()) + layer_.relu();
    for (void* diff : args.bottom_diffs) tensors += diff != nullptr;
    if (product()) tensors += Bottoms();
    Move(OperationKind::kEltwise, tensors * Top() + Saved());
  }

 private:
  bool product() const { return layer_.operation() == EltwiseParameter::PROD; }
  int64_t Bottoms() const { return static_cast<int64_t>(setup().bottoms.size()); }

  const EltwiseLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Eltwise", KernelOf<EltwiseLayer, EltwiseEstimate>);

}  // namespace
}  // namespace gf
