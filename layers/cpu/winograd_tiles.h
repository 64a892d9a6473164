#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "layers/cpu/winograd_kernels.h"

namespace gf {

// Elements between the arrays of neighboring points that have `count` elements each: an odd number
// of cache lines, since arrays with a power of two between them would displace each other in the
// caches.
inline int64_t WinogradStep(int64_t count) {
  constexpr int64_t kLine = 16;
  return ((count + kLine - 1) / kLine | 1) * kLine;
}

// The tiles that cover the results along an axis. They have one or two sizes; large tiles come
// first. The last tile may reach over the end.
struct WinogradSplit {
  int large = 0, small = 0;        // points of a tile; equal if there is one size
  int64_t larges = 0, smalls = 0;  // numbers of tiles
  int64_t tiles() const { return larges + smalls; }
  int64_t points() const { return large * larges + small * smalls; }
};

// The split of `results` with the fewest points, with tiles of at most `most` points.
WinogradSplit SplitAxis(int64_t results, WinogradForm form, int most);

// Tiles that are computed together.
//
// Note [Order of tiles]
// Tiles of different sizes share the products of their common points. Within a group, tiles are
// ordered by size: large x small, large x large, small x large, small x small (height x width). So
// the tiles that have a point are neighbors for each point.
struct WinogradGroup {
  std::vector<WinogradTile> tiles;
  std::array<int64_t, 3> ends{};  // of the first three kinds in the order above
  int64_t count() const { return static_cast<int64_t>(tiles.size()); }
};

// The tiles of all images of a pass, in groups of neighbors.
class WinogradTiles {
 public:
  struct Range {
    int64_t begin, end;
  };

  WinogradTiles() = default;
  // Axis 0: height, 1: width. Groups have `group` tiles; the last one may have fewer.
  WinogradTiles(int64_t images, const std::array<WinogradSplit, 2>& splits, WinogradForm form,
                int64_t group);

  int64_t groups() const { return groups_; }
  int64_t most_tiles() const { return group_ < tiles_ ? group_ : tiles_; }  // of a group
  int points() const;  // the most of a tile along an axis
  WinogradGroup Group(int64_t index) const;
  // The tiles of a group that have a point.
  Range TilesWith(const WinogradGroup& group, int row, int column) const;

 private:
  WinogradTile Tile(int64_t index) const;

  std::array<WinogradSplit, 2> splits_;
  WinogradForm form_ = WinogradForm::kThreeTaps;
  int64_t tiles_ = 0, group_ = 0, groups_ = 0;
};

}  // namespace gf
