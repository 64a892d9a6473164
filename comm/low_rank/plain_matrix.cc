#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "comm/low_rank/kernels.h"
#include "comm/low_rank/matrix_work.h"
#include "comm/low_rank/piece_inline.h"
#include "core/parallel.h"

namespace gf {
namespace {

// Rows that lie one after the other.
class PlainMatrix : public MatrixWork {
 public:
  explicit PlainMatrix(const MatrixMemory& memory)
      : m_(memory), own_right_(memory.rank * memory.columns) {}

  void Project() override {
    ForRows([&](int64_t row, int64_t rows) {
      const int64_t at = row * m_.columns, count = rows * m_.columns;
      if (late_) kernels_.subtract(m_.residual + at, rows, m_.columns, Own(row));
      AddGradient(m_, at, count);
      kernels_.times_columns(m_.residual + at, rows, m_.columns, Summed(row), m_.left + row,
                             m_.rows);
    });
    late_ = false;
  }

  // Parts of the rows have sums of their own, which are added in order: the result does not depend
  // on the number of threads. Few parts, so that sums take less memory than the matrix.
  void Correlate() override {
    constexpr int64_t kMostParts = 16, kRowsPerFactor = 8;
    const int64_t parts = std::clamp<int64_t>(m_.rows / (kRowsPerFactor * m_.rank), 1, kMostParts);
    const int64_t count = m_.rank * m_.columns;
    thread_local std::vector<float> all_sums;
    std::vector<float>& sums = all_sums;  // the calling thread's, which the others fill, too
    sums.resize(std::max<size_t>(sums.size(), (parts - 1) * count));
    const auto sums_of = [&](int64_t part) {
      return part == 0 ? own_right_.data() : sums.data() + (part - 1) * count;
    };
    ParallelFor(parts, 1, [&](int64_t first, int64_t last) {
      for (int64_t part = first; part < last; ++part) {
        const int64_t begin = m_.rows * part / parts, end = m_.rows * (part + 1) / parts;
        std::fill_n(sums_of(part), count, 0.f);
        kernels_.add_times_rows(m_.residual + begin * m_.columns, end - begin, m_.columns,
                                Summed(begin), sums_of(part), m_.columns);
      }
    });
    ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
      for (int64_t part = 1; part < parts; ++part) {
        kernels_.add_fp32(sums_of(part) + begin, own_right_.data() + begin, end - begin);
      }
      std::copy(own_right_.begin() + begin, own_right_.begin() + end, m_.right + begin);
    });
    late_ = true;
  }

  void Expand() override {
    ForRows([&](int64_t row, int64_t rows) {
      ExpandPiece(m_, row * m_.columns, rows, m_.columns, Summed(row));
    });
  }

  void Settle() override {
    if (!std::exchange(late_, false)) return;
    ForRows([&](int64_t row, int64_t rows) {
      kernels_.subtract(m_.residual + row * m_.columns, rows, m_.columns, Own(row));
    });
  }

 private:
  static constexpr int64_t kRowsAtOnce = 4, kGrain = 4096;

  // The rank's own factors of the last step, and the ranks' factors, from a row on.
  LowRankFactors Own(int64_t row) const {
    return {m_.left + row, m_.rows, own_right_.data(), m_.columns, m_.rank};
  }
  LowRankFactors Summed(int64_t row) const {
    return {m_.left + row, m_.rows, m_.right, m_.columns, m_.rank};
  }

  // body(row, rows) in parallel, for few rows at once, which then stay in the cache.
  template <typename Body>
  void ForRows(const Body& body) const {
    ParallelFor(m_.rows, kRowsAtOnce, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; row += kRowsAtOnce) {
        body(row, std::min(kRowsAtOnce, end - row));
      }
    });
  }

  const MatrixMemory m_;
  const LowRankKernels& kernels_ = LowRank();
  std::vector<float> own_right_;
  bool late_ = false;  // see Note [Late subtraction]
};

}  // namespace

std::unique_ptr<MatrixWork> NewPlainMatrix(const MatrixMemory& memory) {
  return std::make_unique<PlainMatrix>(memory);
}

}  // namespace gf
