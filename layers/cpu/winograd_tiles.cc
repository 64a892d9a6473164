#include "layers/cpu/winograd_tiles.h"

#include <algorithm>

namespace gf {
namespace {

int64_t DivideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

WinogradSplit SplitAxis(int64_t results, WinogradForm form, int most) {
  WinogradSplit best;
  for (int large = most; large >= kFewestWinogradPoints; --large) {
    if (!IsTileSize(form, large)) continue;
    for (int small = large; small >= kFewestWinogradPoints; --small) {
      if (!IsTileSize(form, small)) continue;
      const int64_t of_large = ResultsOf(form, large), of_small = ResultsOf(form, small);
      // `of_small` large tiles have as many results as `of_large` small ones, and fewer points.
      const int64_t most_smalls = small == large ? 0 : of_large - 1;
      for (int64_t smalls = 0; smalls <= most_smalls; ++smalls) {
        const int64_t rest = results - smalls * of_small;
        if (rest <= 0) break;
        const WinogradSplit split = {large, small, DivideUp(rest, of_large), smalls};
        if (best.large == 0 || split.points() < best.points()) best = split;
      }
    }
  }
  if (best.smalls == 0) best.small = best.large;
  return best;
}

WinogradTiles::WinogradTiles(int64_t images, const std::array<WinogradSplit, 2>& splits,
                             WinogradForm form, int64_t group)
    : splits_(splits),
      form_(form),
      tiles_(images * splits[0].tiles() * splits[1].tiles()),
      group_(group),
      groups_(DivideUp(tiles_, group)) {}

int WinogradTiles::points() const { return std::max(splits_[0].large, splits_[1].large); }

WinogradTile WinogradTiles::Tile(int64_t index) const {
  WinogradTile tile;
  for (const int axis : {1, 0}) {
    const WinogradSplit& split = splits_[axis];
    const int64_t place = index % split.tiles(), larges = std::min(place, split.larges);
    index /= split.tiles();
    tile.size[axis] = place < split.larges ? split.large : split.small;
    tile.result[axis] = static_cast<int32_t>(larges * ResultsOf(form_, split.large) +
                                             (place - larges) * ResultsOf(form_, split.small));
  }
  tile.image = index;
  return tile;
}

WinogradGroup WinogradTiles::Group(int64_t index) const {
  WinogradGroup group;
  const int64_t first = index * group_, end = std::min(first + group_, tiles_);
  group.tiles.reserve(end - first);
  for (int64_t i = first; i < end; ++i) group.tiles.push_back(Tile(i));
  const auto kind = [&](const WinogradTile& tile) {
    const bool tall = tile.size[0] == splits_[0].large, wide = tile.size[1] == splits_[1].large;
    return tall ? (wide ? 1 : 0) : (wide ? 2 : 3);
  };
  std::stable_sort(group.tiles.begin(), group.tiles.end(),
                   [&](const WinogradTile& a, const WinogradTile& b) { return kind(a) < kind(b); });
  for (int i = 0; i < 3; ++i) {
    group.ends[i] = std::count_if(group.tiles.begin(), group.tiles.end(),
                                  [&](const WinogradTile& tile) { return kind(tile) <= i; });
  }
  return group;
}

WinogradTiles::Range WinogradTiles::TilesWith(const WinogradGroup& group, int row,
                                              int column) const {
  if (row >= splits_[0].large || column >= splits_[1].large) return {0, 0};
  const bool tall = row >= splits_[0].small, wide = column >= splits_[1].small;
  return {wide ? group.ends[0] : 0, tall ? group.ends[1] : wide ? group.ends[2] : group.count()};
}

}  // namespace gf
