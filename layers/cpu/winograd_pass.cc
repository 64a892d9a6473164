#include "layers/cpu/winograd_pass.h"

#include <omp.h>

#include <algorithm>

namespace gf {
namespace {

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

void WinogradPass::DivideTiles(int64_t images, const std::array<WinogradSplit, 2>& splits, int taps,
                               bool together) {
  constexpr int64_t kOwnTiles = 36, kOwnFilters = 1 << 23;  // floats
  // In a shared group, the transformed tensors together have at least as many floats as the
  // filters.
  constexpr int64_t kSharedSpace = 1 << 20;
  const int size = std::max(splits[0].large, splits[1].large);
  const int64_t count = images * splits[0].tiles() * splits[1].tiles(),
                shared = std::max(from.channels * to.channels, kSharedSpace / (size * size)) /
                             (from.channels + to.channels) +
                         1;
  threads = omp_get_max_threads();
  own_groups = !together && filters.count() <= kOwnFilters && count > kOwnTiles * (threads - 1);
  const int64_t groups =
      own_groups ? DivideUp(count, kOwnTiles * threads) * threads : DivideUp(count, shared);
  tiles = WinogradTiles(images, splits, taps, DivideUp(count, groups));
}

WinogradSpace WinogradPass::Space(const WinogradTensor& tensor, float* data) const {
  // The channels of neighboring tiles must not displace each other in the caches either.
  constexpr int64_t kLine = 16;
  const int64_t tile_step = tensor.channels + kLine;
  return {data, WinogradStep(tiles.most_tiles() * tile_step), tile_step, tiles.points()};
}

int64_t WinogradPass::SpaceFloats(const WinogradTensor& tensor) const {
  return Space(tensor, nullptr).point_step * points();
}

WinogradSpace WinogradPass::Products(float* data) const {
  const int64_t tile_step = filters.columns(0);
  return {data, WinogradStep(most_block() * tile_step), tile_step, tiles.points()};
}

int64_t WinogradPass::ProductFloats() const { return Products(nullptr).point_step * points(); }

int64_t WinogradPass::Blocks(const WinogradGroup& group) const {
  return DivideUp(group.count(), most_block());
}

int64_t WinogradPass::GroupFloats() const {
  return SpaceFloats(from) + (own_groups ? 1 : threads) * ProductFloats();
}

int64_t WinogradPass::floats() const { return (own_groups ? threads : 1) * GroupFloats(); }

int64_t WinogradPass::most_block() const {
  constexpr int64_t kProducts = 150'000, kRows = 12;  // floats; rows of the kernel's products
  const int64_t block = kProducts / (points() * filters.columns(0)) / kRows * kRows;
  return std::min(std::max(block, kRows), tiles.most_tiles());
}

}  // namespace gf
