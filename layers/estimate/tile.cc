#include "layers/tile.h"

#include "layers/estimate/pieces.h"

namespace gf {
namespace {

class TileEstimate : public PieceEstimate {
 public:
  TileEstimate(const TileLayer& layer, const KernelContext& context)
      : PieceEstimate(layer, context), layer_(layer) {}

 protected:
  void Agree(KernelSetup* setup) override {
    AgreeOnPieces(layer_.axis(), &setup->tops[0], &setup->bottoms);
  }
  void ForwardCost(const KernelArgs&) override { Move(OperationKind::kOther, Bottom() + Top()); }
  void BackwardCost(const KernelArgs&) override { Move(OperationKind::kOther, Top() + Bottom()); }

 private:
  const TileLayer& layer_;
};

GF_REGISTER(KernelRegistry, "cuda_estimate/Tile", KernelOf<TileLayer, TileEstimate>);

}  // namespace
}  // namespace gf
