#pragma once

#include <cstdint>
#include <vector>

#include "core/pool_layout.h"

namespace gf {

// Elements of the smallest weight that is worth compressing.
constexpr int64_t kLargeWeight = 4096;

// Whether a tensor is worth compressing. Biases and the parameters of normalization layers travel
// as a whole, which costs few bytes.
inline bool IsLargeWeight(const PoolEntry& entry) {
  return entry.shape.rank() >= 2 && entry.count >= kLargeWeight;
}

// The other tensors.
inline std::vector<ElementRange> SmallTensors(const PoolLayout& layout) {
  std::vector<ElementRange> ranges;
  for (const PoolEntry& entry : layout.entries()) {
    if (!IsLargeWeight(entry)) ranges.push_back({entry.offset, entry.offset + entry.count});
  }
  return ranges;
}

inline int64_t ElementsIn(const std::vector<ElementRange>& ranges) {
  int64_t elements = 0;
  for (const ElementRange& range : ranges) elements += range.end - range.begin;
  return elements;
}

}  // namespace gf
