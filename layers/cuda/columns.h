#pragma once

#include <cstddef>
#include <cstdint>

#include "core/dtype.h"

namespace gf {

// A channels-last tensor as a matrix of rows (pixels) and columns (channels).
struct ColumnsView {
  int64_t rows = 0;
  int columns = 0;
};

// Memory of a kernel that computes sums per column. `partial` is scratch memory of ColumnSumsBytes
// bytes. `arrived` holds ColumnCountersBytes bytes of zeros, which are zeros again after each call;
// calls that share it must be on the same stream.
struct ColumnSumsMemory {
  void* partial = nullptr;
  void* arrived = nullptr;
};

// Bytes for `sums` sums per column of a tensor of this type on the current GPU.
size_t ColumnSumsBytes(const ColumnsView& view, DType type, int sums);
size_t ColumnCountersBytes(const ColumnsView& view, DType type);

}  // namespace gf
