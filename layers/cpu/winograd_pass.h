#pragma once

#include <array>
#include <cstdint>

#include "layers/cpu/winograd_filters.h"
#include "layers/cpu/winograd_kernels.h"
#include "layers/cpu/winograd_tiles.h"

namespace gf {

// Whether threads that compute equal parts alone wait for at most a quarter of the time.
inline bool DividesEvenly(int64_t parts, int64_t threads) {
  const int64_t rounds = (parts + threads - 1) / threads;
  return 4 * parts >= 3 * rounds * threads;
}

// The inputs, outputs and memory of a pass over images.
//
// Note [Groups of tiles]
// Transformed tensors are too large for the caches, so a pass handles one group of tiles after
// another:
// - If all transformed tiles are smaller than the transformed filters, which are not kept, and the
//   threads divide the panels nearly evenly, there is one group. A thread transforms a panel of
//   filters and multiplies all tiles by it at once, so that no thread reads filters that another
//   one has written.
// - Otherwise, filters are transformed once. Threads work on different groups and do not wait for
//   each other, if there are enough groups and the filters, which each group reads, stay in the
//   last cache.
// - Otherwise, all threads share a larger group, so that each filter that is read meets more tiles.
// A thread multiplies a block of the group's tiles by a panel of filters, for all points, and
// transforms the products at once: they fit into its second cache. The order of sums over channels
// is the same in all cases: results do not depend on the number of threads.
struct WinogradPass {
  // The work that a thread does alone, in the cases of Note [Groups of tiles].
  enum class Work { kPanels, kGroups, kShared };

  WinogradForm form = WinogradForm::kThreeTaps;
  WinogradTensor from, to;
  std::array<int64_t, 2> pad{};  // before the first result
  WinogradFilters filters;
  WinogradTiles tiles;
  int threads = 1;  // at most
  Work work = Work::kShared;
  int64_t parts = 1;  // Note [Parts of a sum] (layers/cpu/winograd_weights.h)

  // Set the fields from `tiles` on, for results and for a sum over all tiles; the fields before it
  // are set. `filters_kept`: transformed filters exist already.
  void DivideTiles(int64_t images, const std::array<WinogradSplit, 2>& splits, bool filters_kept);
  void DivideSum(int64_t images, const std::array<WinogradSplit, 2>& splits);

  // A group's part of `from` or `to`, transformed.
  WinogradSpace Space(const WinogradTensor& tensor, float* data) const;
  int64_t SpaceFloats(const WinogradTensor& tensor) const;
  // The products of a block and a panel.
  WinogradSpace Products(float* data) const;
  int64_t ProductFloats() const;
  // The number of equal blocks of a group, and the tiles of one of them.
  int64_t Blocks(const WinogradGroup& group) const;
  WinogradTiles::Range Block(const WinogradGroup& group, int64_t index) const;
  // Of a group and its products; then, of the whole pass without its filters.
  int64_t GroupFloats() const;
  int64_t floats() const;
  // Of the filters that the pass transforms.
  int64_t FilterFloats() const;

 private:
  // Of a group whose transformed tensors together have about `floats` numbers.
  int64_t TilesOf(int64_t floats, const std::array<WinogradSplit, 2>& splits) const;
  int64_t points() const { return tiles.points() * tiles.points(); }
  int64_t most_block() const;  // tiles
};

}  // namespace gf
