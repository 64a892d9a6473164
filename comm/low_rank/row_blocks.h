#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "comm/low_rank/matrices.h"

namespace gf {

// The order in memory of a matrix whose rows are cut into blocks: [blocks][columns][rows], where
// `columns` stand in an order of their own, with zeros between them, and the last block of rows is
// filled with zeros.
struct RowBlocks {
  int64_t rows = 0;  // of a block, a multiple of 16, at most kMostRows
  int64_t blocks = 0;
  int64_t columns = 0;          // in memory
  std::vector<int64_t> places;  // of the matrix's columns among them

  static constexpr int64_t kMostRows = 256;
};

// Of a matrix's layout, or nothing if it has another form.
std::optional<RowBlocks> RowBlocksOf(const LowRankMatrix& matrix);

}  // namespace gf
