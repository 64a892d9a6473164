#include "comm/low_rank/matrix_work.h"

#include <optional>

namespace gf {

std::unique_ptr<MatrixWork> NewMatrixWork(const LowRankMatrix& matrix, const MatrixMemory& memory,
                                          Device* device, float* workspace) {
  if (matrix.entry->layout.plain()) return NewPlainMatrix(memory);
  const std::optional<RowBlocks> blocks = RowBlocksOf(matrix);
  if (blocks) return NewBlockedMatrix(memory, *blocks);
  return NewConvertedMatrix(memory, *matrix.entry, device, workspace);
}

int64_t MatrixWorkspace(const LowRankMatrix& matrix) {
  const bool converted = !matrix.entry->layout.plain() && !RowBlocksOf(matrix);
  return converted ? 2 * matrix.rows * matrix.columns : 0;
}

}  // namespace gf
