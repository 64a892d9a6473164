#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace gf {

// Note [Indices of 31 bits]
// Kernels that find the place of an item from its index divide 32-bit indices with FastDivide: GPUs
// have no division instruction, and a 64-bit division takes about 100 instructions. Items belong to
// rows of equal length. A group consists of whole rows with fewer than 2^31 items in total.
// blockIdx.y is the group; there is only one unless tensors are very large.

// Rows of `items` items each.
struct ItemGroups {
  int64_t rows, rows_of_group;
  int items;

  int64_t count() const { return rows == 0 ? 0 : (rows + rows_of_group - 1) / rows_of_group; }
};

// Maximum number of items in a group. Tests lower it.
inline int64_t& MostItemsOfGroup() {
  static int64_t most = INT32_MAX;
  return most;
}

// Divides rows into groups; if there are several, the rows of a group are a multiple of `multiple`.
// Throws if `multiple` rows have 2^31 items or more.
inline ItemGroups GroupsOf(int64_t rows, int64_t items, int64_t multiple = 1) {
  const int64_t most = MostItemsOfGroup() / std::max<int64_t>(items, 1);
  const int64_t rows_of_group = rows <= most ? rows : most / multiple * multiple;
  if (rows_of_group == 0 && rows > 0) {
    throw std::logic_error("a row of " + std::to_string(items) + " items is too long for a kernel");
  }
  return {rows, rows_of_group, static_cast<int>(items)};
}

}  // namespace gf
