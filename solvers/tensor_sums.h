#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/parallel.h"
#include "core/pool_layout.h"

namespace gf {

// Computes two sums over the elements of each tensor of a pool, from ranges of the pool in one
// sweep. Block sums of a tensor are added in order, so the result does not depend on the number of
// threads.
class TensorSums {
 public:
  using Sums = std::array<double, 2>;

  // The layout must outlive the object.
  explicit TensorSums(const PoolLayout& layout) : layout_(layout) {
    int64_t blocks = 0;
    for (const PoolEntry& entry : layout.entries()) {
      first_.push_back(blocks);
      blocks += (entry.count + kBlock - 1) / kBlock;
    }
    first_.push_back(blocks);
    blocks_.resize(blocks);
  }

  void Clear() { std::fill(blocks_.begin(), blocks_.end(), Sums{}); }

  // Adds the sums over all elements of the range, in parallel. body(index of the entry, begin, end)
  // returns the sums over the elements [begin, end) of the pool. Returns whether all sums are
  // finite.
  template <typename Body>
  bool Add(const ElementRange& range, const Body& body) {
    if (range.begin >= range.end || blocks_.empty()) return true;
    const int64_t first = BlockAt(range.begin), last = BlockAt(range.end - 1);
    std::atomic<bool> finite{true};
    ParallelFor(last - first + 1, 1, [&](int64_t from, int64_t to) {
      for (int64_t block = first + from; block < first + to; ++block) {
        const int index = EntryOf(block);
        const PoolEntry& entry = layout_.entries()[index];
        const int64_t start = entry.offset + (block - first_[index]) * kBlock;
        const int64_t begin = std::max(range.begin, start);
        const int64_t end = std::min({range.end, start + kBlock, entry.offset + entry.count});
        if (begin >= end) continue;
        const Sums sums = body(index, begin, end);
        for (size_t i = 0; i < sums.size(); ++i) {
          blocks_[block][i] += sums[i];
          if (!std::isfinite(sums[i])) finite = false;
        }
      }
    });
    return finite;
  }

  Sums Of(int entry) const {
    Sums total = {};
    for (int64_t block = first_[entry]; block < first_[entry + 1]; ++block) {
      for (size_t i = 0; i < total.size(); ++i) total[i] += blocks_[block][i];
    }
    return total;
  }

 private:
  static constexpr int64_t kBlock = 4096;

  int EntryOf(int64_t block) const {
    const auto next = std::upper_bound(first_.begin(), first_.end(), block);
    return static_cast<int>(next - first_.begin()) - 1;
  }

  // The block of an element, or the nearest block if the element lies between entries.
  int64_t BlockAt(int64_t element) const {
    const auto& entries = layout_.entries();
    const auto entry =
        std::partition_point(entries.begin(), entries.end(),
                             [&](const PoolEntry& e) { return e.offset + e.count <= element; });
    if (entry == entries.end()) return first_.back() - 1;
    const int64_t within = std::max<int64_t>(element - entry->offset, 0);
    return first_[entry - entries.begin()] + within / kBlock;
  }

  const PoolLayout& layout_;
  std::vector<int64_t> first_;  // first block of each entry, then the number of blocks
  std::vector<Sums> blocks_;
};

}  // namespace gf
