#include "layers/concat.h"

#include "layers/estimate/pieces.h"

namespace gf {
namespace {

class ConcatEstimate : public PieceEstimate {
 public:
  ConcatEstimate(const ConcatLayer& layer, const KernelContext& context)
      : PieceEstimate(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelSetup* setup) override {
    AgreeOnPieces(layer_.axis(), &setup->tops[0], &setup->bottoms);
  }
  void ForwardCost(const KernelArgs& args) override {
    MovePieces(setup().bottoms, std::vector<bool>(setup().bottoms.size(), true));
  }
  void BackwardCost(const KernelArgs& args) override {
    std::vector<bool> moved;
    for (const void* diff : args.bottom_diffs) moved.push_back(diff != nullptr);
    MovePieces(setup().bottoms, moved);
  }

 private:
  const ConcatLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Concat", KernelOf<ConcatLayer, ConcatEstimate>);

}  // namespace
}  // namespace gf
