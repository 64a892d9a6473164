#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace gf {

// Note [Indices of 31 bits]
// Where the place of an item follows from its index by division, kernels divide 32-bit indices with
// FastDivide: GPUs have no instruction that divides, and 64 bits take about 100 instructions.
// Items are those of rows of equal length; a group is as many whole rows as have fewer than 2^31
// items together. blockIdx.y is the group, of which there is one unless tensors are very large.

// Rows of `items` items each.
struct ItemGroups {
  int64_t rows, rows_of_group;
  int items;

  int64_t count() const { return rows == 0 ? 0 : (rows + rows_of_group - 1) / rows_of_group; }
};

// Items of a group, at most. Tests set fewer.
inline int64_t& MostItemsOfGroup() {
  static int64_t most = INT32_MAX;
  return most;
}

// Groups of a multiple of `multiple` rows if there are several. Throws where that many rows have
// 2^31 items or more.
inline ItemGroups GroupsOf(int64_t rows, int64_t items, int64_t multiple = 1) {
  const int64_t most = MostItemsOfGroup() / std::max<int64_t>(items, 1);
  const int64_t rows_of_group = rows <= most ? rows : most / multiple * multiple;
  if (rows_of_group == 0 && rows > 0) {
    throw std::logic_error("a row of " + std::to_string(items) + " items is too long for a kernel");
  }
  return {rows, rows_of_group, static_cast<int>(items)};
}

}  // namespace gf
