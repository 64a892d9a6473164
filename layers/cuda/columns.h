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

// Scratch memory of a kernel that makes `sums` sums per column of a tensor of this type.
size_t ColumnSumsBytes(const ColumnsView& view, DType type, int sums);

}  // namespace gf
