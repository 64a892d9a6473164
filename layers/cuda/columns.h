#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace gf {

// A tensor with the channels last: a matrix of rows (pixels) and columns (channels).
struct ColumnsView {
  int64_t rows = 0;
  int columns = 0;
};

// What a kernel that makes sums per column works with. `partial` is scratch memory of
// ColumnSumsBytes. `arrived` is ColumnCountersBytes of zeros, which each call leaves as zeros;
// calls that share it must follow each other on one stream.
struct ColumnSumsMemory {
  void* partial = nullptr;
  void* arrived = nullptr;
};

// For `sums` sums per column of a tensor of this type on the current GPU.
size_t ColumnSumsBytes(const ColumnsView& view, DType type, int sums);
size_t ColumnCountersBytes(const ColumnsView& view, DType type);

}  // namespace gf
