#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "comm/low_rank/kernels.h"
#include "comm/low_rank/matrix_work.h"
#include "comm/low_rank/piece_inline.h"
#include "core/parallel.h"

namespace gf {
namespace {

// Blocks of rows, see RowBlocks. In memory a block is a matrix with a row per column: what the
// plain matrix does with its rows is done with its columns here, and the other way round. Factors
// are kept in the order of memory, with zeros where it has them, so what lies there stays 0.
class BlockedMatrix : public MatrixWork {
 public:
  BlockedMatrix(const MatrixMemory& memory, const RowBlocks& blocks)
      : m_(memory),
        blocks_(blocks),
        rows_(blocks.blocks * blocks.rows),
        left_(m_.rank * rows_),
        right_(m_.rank * blocks.columns),
        own_right_(right_.size()) {}

  void Project() override {
    TakeRight();
    ForBlocks([&](int64_t block) {
      thread_local std::vector<float> sums;
      sums.assign(m_.rank * blocks_.rows, 0.f);
      ForPieces(block, [&](int64_t at, int64_t column, int64_t columns) {
        if (late_) Subtract(block, at, column, columns);
        AddGradient(m_, at, columns * blocks_.rows);
        kernels_.add_times_rows(m_.residual + at, columns, blocks_.rows,
                                Factors(block, column, right_), sums.data(), blocks_.rows);
      });
      const int64_t row = block * blocks_.rows, rows = std::min(blocks_.rows, m_.rows - row);
      for (int k = 0; k < m_.rank; ++k) {
        std::copy_n(sums.data() + k * blocks_.rows, rows, m_.left + k * m_.rows + row);
      }
    });
    late_ = false;
  }

  void Correlate() override {
    TakeLeft();
    const int64_t pieces = (blocks_.columns + kColumnsAtOnce - 1) / kColumnsAtOnce;
    ParallelFor(pieces, 1, [&](int64_t first, int64_t last) {
      for (int64_t piece = first; piece < last; ++piece) {
        const int64_t column = piece * kColumnsAtOnce;
        CorrelateColumns(column, std::min(kColumnsAtOnce, blocks_.columns - column));
      }
    });
    for (int k = 0; k < m_.rank; ++k) {
      const float* const own = own_right_.data() + k * blocks_.columns;
      float* const right = m_.right + k * m_.columns;
      for (int64_t j = 0; j < m_.columns; ++j) right[j] = own[blocks_.places[j]];
    }
    late_ = true;
  }

  void Expand() override {
    TakeLeft();
    TakeRight();
    ForAllPieces([&](int64_t block, int64_t at, int64_t column, int64_t columns) {
      ExpandPiece(m_, at, columns, blocks_.rows, Factors(block, column, right_));
    });
    const auto finite = [](float value) { return std::isfinite(value); };
    if (!finite(*m_.left) || !std::all_of(right_.begin(), right_.end(), finite)) ZeroPadding();
  }

  void Settle() override {
    if (!std::exchange(late_, false)) return;
    ForAllPieces([&](int64_t block, int64_t at, int64_t column, int64_t columns) {
      Subtract(block, at, column, columns);
    });
  }

 private:
  static constexpr int64_t kColumnsAtOnce = 64;

  // Where a column of a block begins in the gradient and the residual.
  int64_t At(int64_t block, int64_t column) const {
    return (block * blocks_.columns + column) * blocks_.rows;
  }

  // Of a piece whose rows are columns of the matrix.
  LowRankFactors Factors(int64_t block, int64_t column, const std::vector<float>& right) const {
    return {right.data() + column, blocks_.columns, left_.data() + block * blocks_.rows, rows_,
            m_.rank};
  }

  void Subtract(int64_t block, int64_t at, int64_t column, int64_t columns) const {
    kernels_.subtract(m_.residual + at, columns, blocks_.rows, Factors(block, column, own_right_));
  }

  // One sum for each column, over the blocks in order.
  void CorrelateColumns(int64_t column, int64_t columns) {
    thread_local std::vector<float> lanes;
    lanes.assign(m_.rank * columns * kLowRankLanes, 0.f);
    for (int64_t block = 0; block < blocks_.blocks; ++block) {
      kernels_.add_times_columns(m_.residual + At(block, column), columns, blocks_.rows,
                                 Factors(block, column, right_), lanes.data());
    }
    const float* sums = lanes.data();
    for (int k = 0; k < m_.rank; ++k) {
      for (int64_t j = column; j < column + columns; ++j, sums += kLowRankLanes) {
        own_right_[k * blocks_.columns + j] = std::accumulate(sums, sums + kLowRankLanes, 0.f);
      }
    }
  }

  // Of the gradient: zeros of the factors times numbers that are not finite are not 0.
  void ZeroPadding() const {
    const size_t size = SizeOf(m_.type);
    std::vector<bool> used(blocks_.columns);
    for (const int64_t place : blocks_.places) used[place] = true;
    for (int64_t block = 0; block < blocks_.blocks; ++block) {
      const int64_t rows = std::min(blocks_.rows, m_.rows - block * blocks_.rows);
      for (int64_t column = 0; column < blocks_.columns; ++column) {
        const int64_t first = used[column] ? rows : 0;
        std::memset(static_cast<char*>(m_.gradient) + (At(block, column) + first) * size, 0,
                    (blocks_.rows - first) * size);
      }
    }
  }

  // From the order of the factors to the order in memory.
  void TakeLeft() {
    for (int k = 0; k < m_.rank; ++k) {
      std::copy_n(m_.left + k * m_.rows, m_.rows, left_.data() + k * rows_);
    }
  }
  void TakeRight() {
    for (int k = 0; k < m_.rank; ++k) {
      float* const right = right_.data() + k * blocks_.columns;
      for (int64_t j = 0; j < m_.columns; ++j)
        right[blocks_.places[j]] = m_.right[k * m_.columns + j];
    }
  }

  // body(block) in parallel.
  template <typename Body>
  void ForBlocks(const Body& body) const {
    ParallelFor(blocks_.blocks, 1, [&](int64_t first, int64_t last) {
      for (int64_t block = first; block < last; ++block) body(block);
    });
  }

  // body(place in memory, column, columns) for pieces of a block that stay in the cache.
  template <typename Body>
  void ForPieces(int64_t block, const Body& body) const {
    for (int64_t column = 0; column < blocks_.columns; column += kColumnsAtOnce) {
      body(At(block, column), column, std::min(kColumnsAtOnce, blocks_.columns - column));
    }
  }

  // body(block, place in memory, column, columns) for the pieces of all blocks, in parallel.
  template <typename Body>
  void ForAllPieces(const Body& body) const {
    const int64_t pieces = (blocks_.columns + kColumnsAtOnce - 1) / kColumnsAtOnce;
    ParallelFor(blocks_.blocks * pieces, 1, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i) {
        const int64_t block = i / pieces, column = i % pieces * kColumnsAtOnce;
        body(block, At(block, column), column, std::min(kColumnsAtOnce, blocks_.columns - column));
      }
    });
  }

  const MatrixMemory m_;
  const RowBlocks blocks_;
  const int64_t rows_;  // in memory
  const LowRankKernels& kernels_ = LowRank();
  std::vector<float> left_, right_, own_right_;  // the last: the rank's own of Correlate
  bool late_ = false;                            // see Note [Late subtraction]
};

}  // namespace

std::unique_ptr<MatrixWork> NewBlockedMatrix(const MatrixMemory& memory, const RowBlocks& blocks) {
  return std::make_unique<BlockedMatrix>(memory, blocks);
}

}  // namespace gf
