#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "comm/low_rank/kernels.h"
#include "comm/low_rank/matrix_work.h"
#include "comm/wire/wire.h"
#include "core/dtype.h"

namespace gf {

// Pieces of a matrix that lie at `at` of its gradient and residual, on one thread.

// h += g.
inline void AddGradient(const MatrixMemory& m, int64_t at, int64_t count) {
  const LowRankKernels& kernels = LowRank();
  const void* const g = static_cast<const char*>(m.gradient) + at * SizeOf(m.type);
  (m.type == DType::kFP32 ? kernels.add_fp32 : kernels.add_bf16)(g, m.residual + at, count);
}

// g = the product of factors, row-major.
inline void ExpandPiece(const MatrixMemory& m, int64_t at, int64_t rows, int64_t columns,
                        const LowRankFactors& factors) {
  if (m.type == DType::kFP32) {
    return LowRank().expand(static_cast<float*>(m.gradient) + at, rows, columns, factors);
  }
  thread_local std::vector<float> piece;
  piece.resize(std::max<size_t>(piece.size(), rows * columns));
  LowRank().expand(piece.data(), rows, columns, factors);
  WireFor(DType::kFP32, m.type)
      .encode(piece.data(), static_cast<char*>(m.gradient) + at * SizeOf(m.type), rows * columns);
}

}  // namespace gf
