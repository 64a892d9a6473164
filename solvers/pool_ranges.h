#pragma once

#include <algorithm>
#include <cstdint>

#include "core/parallel.h"
#include "core/pool_layout.h"

namespace gf {

// Splits the pool's entries first .. last (both included) among the compute threads as one
// contiguous range and calls body(entry, begin, end) for each piece; begin and end are
// offsets in the pool. Small entries share a thread and large ones are shared out.
template <typename Body>
void ForEntries(const PoolLayout& layout, int first, int last, const Body& body) {
  constexpr int64_t kGrain = 4096;  // a multiple of the pools' alignment; 16 KiB of FP32
  const auto& entries = layout.entries();
  const int64_t start = entries[first].offset;
  const int64_t count = entries[last].offset + entries[last].count - start;
  ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
    begin += start;
    end += start;
    for (int i = first; i <= last; ++i) {
      const PoolEntry& entry = entries[i];
      const int64_t from = std::max(begin, entry.offset);
      const int64_t to = std::min(end, entry.offset + entry.count);
      if (from < to) body(entry, from, to);
    }
  });
}

}  // namespace gf
