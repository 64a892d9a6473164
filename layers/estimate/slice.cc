#include "layers/slice.h"

#include <algorithm>

#include "layers/estimate/pieces.h"

namespace gf {
namespace {

class SliceEstimate : public PieceEstimate {
 public:
  SliceEstimate(const SliceLayer& layer, const KernelContext& context)
      : PieceEstimate(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelSetup* setup) override {
    AgreeOnPieces(layer_.axis(), &setup->bottoms[0], &setup->tops);
  }
  void ForwardCost(const KernelArgs& args) override {
    MovePieces(setup().tops, std::vector<bool>(setup().tops.size(), true));
  }
  // Where a top has no gradient, zeros fill the bottom's first.
  void BackwardCost(const KernelArgs& args) override {
    std::vector<bool> moved;
    for (const auto& diffs : args.top_diffs) moved.push_back(!diffs.empty());
    if (std::count(moved.begin(), moved.end(), false) > 0) {
      Move(OperationKind::kOther, Bottom());
    }
    MovePieces(setup().tops, moved);
  }

 private:
  const SliceLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Slice", KernelOf<SliceLayer, SliceEstimate>);

}  // namespace
}  // namespace gf
