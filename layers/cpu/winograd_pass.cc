#include "layers/cpu/winograd_pass.h"

#include <omp.h>

#include <algorithm>

namespace gf {
namespace {

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

int64_t WinogradPass::TilesOf(int64_t floats, const std::array<WinogradSplit, 2>& splits) const {
  const int size = std::max(splits[0].large, splits[1].large);
  return floats / (size * size * (from.channels + to.channels)) + 1;
}

void WinogradPass::DivideTiles(int64_t images, const std::array<WinogradSplit, 2>& splits,
                               bool filters_kept) {
  constexpr int64_t kOwnTiles = 36, kOwnFilters = 1 << 23, kShared = 1 << 20;  // floats
  const int64_t count = images * splits[0].tiles() * splits[1].tiles(),
                size = std::max(splits[0].large, splits[1].large);
  threads = omp_get_max_threads();
  int64_t groups = 1;
  if (!filters_kept && count * size * size * from.channels < filters.count() &&
      DividesEvenly(filters.panels(), threads)) {
    work = Work::kPanels;
  } else if (filters.count() <= kOwnFilters && count > kOwnTiles * (threads - 1)) {
    work = Work::kGroups;
    groups = DivideUp(count, kOwnTiles * threads) * threads;
  } else {
    work = Work::kShared;
    groups = DivideUp(count, TilesOf(std::max(kShared, filters.count()), splits));
  }
  tiles = WinogradTiles(images, splits, form, DivideUp(count, groups));
}

void WinogradPass::DivideSum(int64_t images, const std::array<WinogradSplit, 2>& splits) {
  // A group's transformed tensors fit into a second cache if the filters are small, and are larger
  // than the sums if these do not fit either: each group reads and writes them all.
  constexpr int64_t kGroup = 1 << 18, kMostSums = 1 << 24;  // floats
  const int64_t sums = from.channels * to.channels * filters.points() * filters.points(),
                count = images * splits[0].tiles() * splits[1].tiles(),
                group = TilesOf(std::max(kGroup, 2 * sums), splits);
  threads = omp_get_max_threads();
  // Many numbers of threads divide these.
  for (const int64_t number : {48, 24, 12, 6, 4, 2, 1}) {
    parts = number;
    if (parts * sums <= kMostSums && parts * group <= count) break;
  }
  const int64_t groups = DivideUp(count, group * parts) * parts;
  tiles = WinogradTiles(images, splits, form, DivideUp(count, groups));
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

WinogradTiles::Range WinogradPass::Block(const WinogradGroup& group, int64_t index) const {
  const int64_t blocks = Blocks(group);
  return {group.count() * index / blocks, group.count() * (index + 1) / blocks};
}

int64_t WinogradPass::GroupFloats() const {
  return SpaceFloats(from) + (work == Work::kGroups ? 1 : threads) * ProductFloats();
}

int64_t WinogradPass::floats() const {
  return (work == Work::kGroups ? threads : 1) * GroupFloats();
}

int64_t WinogradPass::FilterFloats() const {
  return work == Work::kPanels ? threads * filters.PanelFloats() : filters.count();
}

int64_t WinogradPass::most_block() const {
  constexpr int64_t kProducts = 150'000, kRows = 12;  // floats; rows of the kernel's products
  const int64_t block = kProducts / (points() * filters.columns(0)) / kRows * kRows;
  return std::min(std::max(block, kRows), tiles.most_tiles());
}

}  // namespace gf
