#include "layers/concat.h"

#include <algorithm>

#include "layers/estimate/kernel.h"

namespace gf {
namespace {

class ConcatEstimate : public EstimateKernel {
 public:
  ConcatEstimate(const ConcatLayer& layer, const KernelContext& context)
      : EstimateKernel(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelSetup* setup) override {
    const bool channels = layer_.axis() == 1 && setup->tops[0].shape.rank() > 2;
    const auto set = [&](TensorDesc* desc) {
      desc->layout = channels ? ImageLayout(desc->shape) : Layout();
    };
    set(&setup->tops[0]);
    for (TensorDesc& bottom : setup->bottoms) set(&bottom);
  }

  void ForwardCost(const KernelArgs& args) override {
    int64_t bytes = 0;
    for (size_t i = 0; i < setup().bottoms.size(); ++i) bytes += 2 * Bottom(i);
    Move(OperationKind::kOther, bytes, Launches());
  }
  void BackwardCost(const KernelArgs& args) override {
    for (size_t begin = 0; begin < setup().bottoms.size(); begin += kBottomsOfLaunch) {
      int64_t bytes = 0;
      for (size_t i = begin; i < std::min(begin + kBottomsOfLaunch, setup().bottoms.size()); ++i) {
        if (args.bottom_diffs[i] != nullptr) bytes += 2 * Bottom(i);
      }
      if (bytes > 0) Move(OperationKind::kOther, bytes);
    }
  }

 private:
  static constexpr size_t kBottomsOfLaunch = 16;

  int Launches() const {
    return static_cast<int>((setup().bottoms.size() + kBottomsOfLaunch - 1) / kBottomsOfLaunch);
  }

  const ConcatLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Concat", KernelOf<ConcatLayer, ConcatEstimate>);

}  // namespace
}  // namespace gf
