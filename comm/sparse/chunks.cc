#include "comm/sparse/chunks.h"

#include <glog/logging.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace gf {

ChunkGrid::ChunkGrid(int64_t count, int64_t chunk_size) : count_(count), chunk_size_(chunk_size) {
  CHECK_GE(count, 0);
  CHECK_GT(chunk_size, 0);
}

ChunkSet::ChunkSet(const ChunkGrid& grid, std::vector<int64_t> ids)
    : grid_(grid), ids_(std::move(ids)), before_(grid.chunks() + 1) {
  int64_t previous = -1;
  for (const int64_t id : ids_) {
    CHECK_GT(id, previous) << "chunks not in ascending order";
    CHECK_LT(id, grid_.chunks());
    before_[id + 1] = 1;
    previous = id;
  }
  std::partial_sum(before_.begin(), before_.end(), before_.begin());
}

ChunkSet ChunkSet::All(const ChunkGrid& grid) {
  std::vector<int64_t> ids(grid.chunks());
  std::iota(ids.begin(), ids.end(), 0);
  return ChunkSet(grid, std::move(ids));
}

int64_t ChunkSet::PackedOffset(int64_t element) const {
  DCHECK(element >= 0 && element <= grid_.count());
  const int64_t chunk = grid_.ChunkOf(element);
  if (chunk >= grid_.chunks()) return before_.back() * grid_.chunk_size();
  // Only the last chunk is shorter, and nothing lies behind it.
  const int64_t inside = Contains(chunk) ? element - grid_.Begin(chunk) : 0;
  return before_[chunk] * grid_.chunk_size() + inside;
}

std::vector<ElementRange> ChunkSet::ElementRanges(int64_t begin, int64_t end) const {
  DCHECK(begin >= 0 && end <= grid_.count());
  std::vector<ElementRange> ranges;
  if (begin >= end) return ranges;
  const int64_t last = grid_.ChunkOf(end - 1);
  for (int64_t i = before_[grid_.ChunkOf(begin)]; i < before_[last + 1]; ++i) {
    const ElementRange range = {std::max(begin, grid_.Begin(ids_[i])),
                                std::min(end, grid_.End(ids_[i]))};
    if (!ranges.empty() && ranges.back().end == range.begin) {
      ranges.back().end = range.end;
    } else {
      ranges.push_back(range);
    }
  }
  return ranges;
}

std::vector<ElementRange> ChunkSet::OtherRanges(int64_t begin, int64_t end) const {
  std::vector<ElementRange> ranges;
  int64_t from = begin;
  for (const ElementRange& own : ElementRanges(begin, end)) {
    if (own.begin > from) ranges.push_back({from, own.begin});
    from = own.end;
  }
  if (from < end) ranges.push_back({from, end});
  return ranges;
}

}  // namespace gf
