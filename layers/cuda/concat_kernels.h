#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace gf {

// Rows of `row_bytes` bytes in one tensor, and tensors that hold a piece of each row. All sizes and
// addresses are multiples of 2 bytes.
struct RowPieces {
  static constexpr int kMost = 16;

  struct Piece {
    void* data = nullptr;  // [rows][bytes]; null: omitted
    int64_t begin = 0;     // offset in a row, in bytes
    int64_t bytes = 0;
  };

  int64_t rows = 0, row_bytes = 0;
  Piece pieces[kMost];
  int count = 0;  // number of pieces
};

// JoinRows copies the pieces into `rows`, SplitRows copies them out of `rows`, each with one
// launch.
void JoinRows(const RowPieces& pieces, void* rows, cudaStream_t stream);
void SplitRows(const RowPieces& pieces, const void* rows, cudaStream_t stream);

}  // namespace gf
