#pragma once

#include <algorithm>
#include <cstdint>

#include "core/parallel.h"
#include "core/pool_layout.h"

namespace gf {

// Splits the pool's elements [from, to) into one contiguous range per compute thread and calls
// body(entry, begin, end) for each piece of an entry, where begin and end are offsets in the pool.
// Small entries share a thread; large entries are split among threads.
template <typename Body>
void ForEntries(const PoolLayout& layout, int64_t from, int64_t to, const Body& body) {
  constexpr int64_t kGrain = 4096;  // a multiple of the pools' alignment; 16 KiB of FP32
  const auto& entries = layout.entries();
  ParallelFor(to - from, kGrain, [&](int64_t begin, int64_t end) {
    begin += from;
    end += from;
    // The first entry that ends after `begin`.
    auto entry = std::partition_point(entries.begin(), entries.end(), [&](const PoolEntry& e) {
      return e.offset + e.count <= begin;
    });
    for (; entry != entries.end() && entry->offset < end; ++entry) {
      body(*entry, std::max(begin, entry->offset), std::min(end, entry->offset + entry->count));
    }
  });
}

}  // namespace gf
