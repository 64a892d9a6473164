#pragma once

#include <cstdint>
#include <vector>

#include "core/pool_layout.h"

namespace gf {

// A pool of `count` elements cut into chunks of `chunk_size` consecutive elements, the last one
// shorter. Chunks are numbered from 0 in the pool's order; an empty pool has none.
class ChunkGrid {
 public:
  static constexpr int64_t kChunkSize = 32000;  // [GradientFlow], section 4

  explicit ChunkGrid(int64_t count, int64_t chunk_size = kChunkSize);

  int64_t count() const { return count_; }
  int64_t chunk_size() const { return chunk_size_; }
  int64_t chunks() const { return (count_ + chunk_size_ - 1) / chunk_size_; }

  // The elements [Begin, End) of a chunk.
  int64_t Begin(int64_t chunk) const { return chunk * chunk_size_; }
  int64_t End(int64_t chunk) const {
    const int64_t end = (chunk + 1) * chunk_size_;
    return end < count_ ? end : count_;
  }

  // The chunk that holds an element.
  int64_t ChunkOf(int64_t element) const { return element / chunk_size_; }

  bool operator==(const ChunkGrid& other) const {
    return count_ == other.count_ && chunk_size_ == other.chunk_size_;
  }

 private:
  int64_t count_, chunk_size_;
};

// The important chunks of a step: those that are communicated.
class ChunkSet {
 public:
  // `ids` ascending, without repetitions.
  ChunkSet(const ChunkGrid& grid, std::vector<int64_t> ids);

  static ChunkSet All(const ChunkGrid& grid);

  const ChunkGrid& grid() const { return grid_; }
  const std::vector<int64_t>& ids() const { return ids_; }
  bool Contains(int64_t chunk) const { return before_[chunk + 1] > before_[chunk]; }
  bool IsAll() const { return static_cast<int64_t>(ids_.size()) == grid_.chunks(); }

  // Elements of important chunks in front of pool offset `element` (0 .. count): where that
  // element lies if important chunks are packed one after the other. PackedOffset(count) is
  // the length of the packed pool.
  int64_t PackedOffset(int64_t element) const;

  // Elements of important chunks within [begin, end) of the pool, as ascending ranges of
  // which no two touch; none is empty.
  std::vector<ElementRange> ElementRanges(int64_t begin, int64_t end) const;
  // The same of the other chunks.
  std::vector<ElementRange> OtherRanges(int64_t begin, int64_t end) const;

  bool operator==(const ChunkSet& other) const {
    return grid_ == other.grid_ && ids_ == other.ids_;
  }

 private:
  ChunkGrid grid_;
  std::vector<int64_t> ids_;
  std::vector<int64_t> before_;  // [chunks + 1], important chunks in front of each
};

}  // namespace gf
