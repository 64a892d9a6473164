#include "layers/tile.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "layers/cpu/channel_pieces.h"
#include "layers/cpu/elementwise.h"
#include "layers/kernel.h"

namespace gf {
namespace {

// Treats the bottom as [rows][count] and the top as [rows][tiles][count].
class TileKernel : public Kernel {
 public:
  TileKernel(const TileLayer& layer, const KernelContext& context)
      : layer_(layer), type_(context.compute) {}

  void Setup(KernelSetup* setup) override {
    const TensorDesc bottom = setup->bottoms[0];
    std::vector<TensorDesc> parts(2, bottom);  // the layouts do not depend on their number
    ChannelPieces pieces;
    pieces.Setup(layer_.axis(), bottom, &setup->tops[0], &parts);
    setup->bottoms[0].layout = parts[0].layout;
    rows_ = pieces.rows();
    count_ = setup->bottoms[0].storage_count() / rows_;
  }

  void Forward(const KernelArgs& args) override {
    const int64_t tiles = layer_.tiles();
    const auto bytes = count_ * static_cast<int64_t>(SizeOf(type_));
    ParallelFor(rows_ * tiles, std::max<int64_t>(1, kElementGrain / count_),
                [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) {
                    std::memcpy(At(args.tops[0], i * count_, type_),
                                At(args.bottoms[0], i / tiles * count_, type_), bytes);
                  }
                });
  }

  // Sums in FP32, in the order of the copies.
  void Backward(const KernelArgs& args) override {
    const int64_t tiles = layer_.tiles();
    ParallelFor(rows_ * count_, kElementGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i / count_ * tiles * count_ + i % count_;
        float sum = 0;
        for (int64_t tile = 0; tile < tiles; ++tile) {
          sum += LoadElement(args.top_diffs[0][0], first + tile * count_, type_);
        }
        StoreElement(args.bottom_diffs[0], i, type_, sum);
      }
    });
  }

 private:
  const TileLayer& layer_;
  const DType type_;
  int64_t rows_ = 0, count_ = 0;
};

GF_REGISTER(KernelRegistry, "cpu/Tile", KernelOf<TileLayer, TileKernel>);

}  // namespace
}  // namespace gf
