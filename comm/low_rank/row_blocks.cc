#include "comm/low_rank/row_blocks.h"

#include <numeric>
#include <utility>

namespace gf {
namespace {

// Offsets of the combinations of the indices of axes [first, last), the last axis fastest.
std::vector<int64_t> Combined(const std::vector<std::vector<int64_t>>& axes, size_t first,
                              size_t last) {
  std::vector<int64_t> combined = {0};
  for (size_t axis = first; axis < last; ++axis) {
    std::vector<int64_t> longer;
    longer.reserve(combined.size() * axes[axis].size());
    for (const int64_t before : combined) {
      for (const int64_t offset : axes[axis]) longer.push_back(before + offset);
    }
    combined = std::move(longer);
  }
  return combined;
}

}  // namespace

std::optional<RowBlocks> RowBlocksOf(const LowRankMatrix& matrix) {
  if (matrix.entry->layout.plain()) return std::nullopt;
  const auto axes = matrix.entry->layout.device()->AxisOffsets();
  size_t row_axes = 0;
  int64_t rows = 1;
  while (rows < matrix.rows && row_axes < axes.size()) {
    rows *= static_cast<int64_t>(axes[row_axes++].size());
  }
  if (rows != matrix.rows) return std::nullopt;
  const std::vector<int64_t> row_offsets = Combined(axes, 0, row_axes);
  RowBlocks result;
  result.places = Combined(axes, row_axes, axes.size());
  if (static_cast<int64_t>(result.places.size()) != matrix.columns) return std::nullopt;

  // Rows lie side by side between two columns.
  for (const int64_t offset : result.places) result.rows = std::gcd(result.rows, offset);
  if (result.rows == 0 || result.rows % 16 != 0 || result.rows > RowBlocks::kMostRows) {
    return std::nullopt;
  }
  result.blocks = (matrix.rows + result.rows - 1) / result.rows;
  const int64_t block = matrix.entry->count / result.blocks;
  if (block * result.blocks != matrix.entry->count || block % result.rows != 0) {
    return std::nullopt;
  }
  result.columns = block / result.rows;
  for (int64_t i = 0; i < matrix.rows; ++i) {
    if (row_offsets[i] != i / result.rows * block + i % result.rows) return std::nullopt;
  }
  for (int64_t& place : result.places) {
    place /= result.rows;
    if (place >= result.columns) return std::nullopt;
  }
  return result;
}

}  // namespace gf
