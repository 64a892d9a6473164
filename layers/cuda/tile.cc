#include "layers/tile.h"

#include "layers/cuda/permute_kernels.h"
#include "layers/cuda/piece_mover.h"
#include "layers/cuda/tile_kernels.h"

namespace gf {
namespace {

// Treats the bottom as [rows][count] and the top as [rows][tiles][count].
class TileKernel : public RepeatingKernel {
 public:
  TileKernel(const TileLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Setup(KernelSetup* setup) override {
    PieceMover pieces(context_);
    pieces.Setup(layer_.axis(), &setup->tops[0], &setup->bottoms);
    rows_ = pieces.rows();
    count_ = setup->bottoms[0].shape.count() / rows_;
    CheckRowSize(layer_, layer_.tiles() * count_);
  }

  // A permutation that reads each element several times.
  void Forward(const KernelArgs& args) override {
    const PermuteView view = {3, {rows_, layer_.tiles(), count_}, {count_, 0, 1}};
    Permute(view, SizeOf(context_.compute), args.bottoms[0], args.tops[0], StreamOf(context_));
  }
  void Backward(const KernelArgs& args) override {
    TileGradient(rows_, layer_.tiles(), count_, context_.compute, args.top_diffs[0][0],
                 args.bottom_diffs[0], StreamOf(context_));
  }

 private:
  const TileLayer& layer_;
  const KernelContext context_;
  int64_t rows_ = 0, count_ = 0;
};

GF_REGISTER(KernelRegistry, "cuda/Tile", KernelOf<TileLayer, TileKernel>);

}  // namespace
}  // namespace gf
