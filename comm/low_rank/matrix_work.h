#pragma once

#include <cstdint>
#include <memory>

#include "comm/low_rank/low_rank_arithmetic.h"
#include "comm/low_rank/matrices.h"
#include "comm/low_rank/row_blocks.h"
#include "core/device.h"
#include "core/dtype.h"
#include "core/pool_layout.h"

namespace gf {

// A matrix in host memory: gradient and residual in the order of the pools, factors as in
// LowRankMatrix.
struct MatrixMemory {
  int64_t rows, columns;
  int rank;
  void* gradient;
  DType type;  // of the gradient, FP32 or BF16
  float* residual;
  float *left, *right;
};

// Note [Late subtraction]
// The phases of Note [Low rank] read and write a matrix as seldom as they can, because it is larger
// than the caches. Correlate leaves M in the residual and keeps its own factors; the next Project,
// which reads and writes the residual anyway, subtracts their product first. The note's
// bits stay the same. Settle does it at once, for others to read the residual.

// What LOW_RANK does with one matrix on the CPU; all compute threads work on it.
class MatrixWork {
 public:
  virtual ~MatrixWork() = default;
  virtual void Project() = 0;
  virtual void Correlate() = 0;  // the columns of the left factor are orthonormal
  virtual void Expand() = 0;
  virtual void Settle() = 0;
};

// For the order of elements in which the matrix lies. `workspace`: MatrixWorkspace(matrix) elements
// or more, which several objects may share.
std::unique_ptr<MatrixWork> NewMatrixWork(const LowRankMatrix& matrix, const MatrixMemory& memory,
                                          Device* device, float* workspace);
int64_t MatrixWorkspace(const LowRankMatrix& matrix);

// The forms of an order: rows one after the other; blocks of rows; any that the device converts,
// with room for two FP32 matrices.
std::unique_ptr<MatrixWork> NewPlainMatrix(const MatrixMemory& memory);
std::unique_ptr<MatrixWork> NewBlockedMatrix(const MatrixMemory& memory, const RowBlocks& blocks);
std::unique_ptr<MatrixWork> NewConvertedMatrix(const MatrixMemory& memory, const PoolEntry& entry,
                                               Device* device, float* workspace);

}  // namespace gf
