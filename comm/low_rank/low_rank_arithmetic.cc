#include "comm/low_rank/low_rank_arithmetic.h"

#include <algorithm>
#include <cmath>

#include "comm/feedback/feedback_arithmetic.h"
#include "comm/low_rank/kernels.h"
#include "comm/low_rank/orthonormal.h"
#include "core/parallel.h"

namespace gf {
namespace {

class CpuLowRankArithmetic : public LowRankArithmetic {
 public:
  CpuLowRankArithmetic(Device* device, const LowRankPools& pools,
                       const std::vector<LowRankMatrix>& matrices)
      : device_(device),
        pools_(pools),
        matrices_(matrices),
        fp32_(pools.gradients.desc.dtype == DType::kFP32) {
    int64_t longest = 0;
    for (const LowRankMatrix& m : matrices) {
      if (!InPlace(m)) longest = std::max(longest, m.rows * m.columns);
    }
    workspace_ = std::vector<float>(longest);
  }

  void Prepare(int64_t step) override {
    ParallelFor(static_cast<int64_t>(matrices_.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const LowRankMatrix& m = matrices_[i];
        NormalizeColumns(Right(m), m.columns, m.rank, step, i * m.rank);
      }
    });
  }

  void Project(int matrix) override {
    const LowRankMatrix& m = matrices_[matrix];
    const auto add = fp32_ ? kernels_.add_fp32 : kernels_.add_bf16;
    if (!InPlace(m)) {
      ForElements(m.entry->count, [&](int64_t begin, int64_t count) {
        add(Gradient(m, begin), Residual(m) + begin, count);
      });
      ToWorkspace(m);
    }
    const float* const values = InPlace(m) ? Residual(m) : workspace_.data();
    ParallelFor(m.rows, kRowsAtOnce, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; i += kRowsAtOnce) {
        const int64_t end = std::min(i + kRowsAtOnce, last);
        // While the rows are in the cache.
        if (InPlace(m)) {
          const int64_t at = i * m.columns;
          add(Gradient(m, at), Residual(m) + at, (end - i) * m.columns);
        }
        kernels_.project(values, m.rows, m.columns, Right(m), m.rank, Left(m), i, end);
      }
    });
  }

  void Orthonormalize(int matrix) override {
    const LowRankMatrix& m = matrices_[matrix];
    MakeOrthonormal(Left(m), m.rows, m.rank);
  }

  void Correlate(int matrix) override {
    const LowRankMatrix& m = matrices_[matrix];
    if (std::isnan(*Left(m))) return DropBad(m);
    if (!InPlace(m)) ToWorkspace(m);
    float* const values = InPlace(m) ? Residual(m) : workspace_.data();
    CorrelateParts(m, values);
    ParallelFor(m.rows, kRowsAtOnce, [&](int64_t begin, int64_t end) {
      kernels_.subtract(values, m.rows, m.columns, Left(m), Right(m), m.rank, begin, end);
    });
    if (!InPlace(m)) FromWorkspace(m, pools_.residual);
  }

  void Expand(int matrix) override {
    const LowRankMatrix& m = matrices_[matrix];
    const bool in_place = InPlace(m) && fp32_;
    if (!in_place) {
      workspace_.resize(std::max<size_t>(workspace_.size(), m.rows * m.columns));
    }
    float* const values = in_place ? static_cast<float*>(Gradient(m, 0)) : workspace_.data();
    ParallelFor(m.rows, kRowsAtOnce, [&](int64_t begin, int64_t end) {
      kernels_.expand(values, m.rows, m.columns, Left(m), Right(m), m.rank, begin, end);
    });
    if (!in_place) FromWorkspace(m, pools_.gradients);
  }

  void Merge(int matrix) override {
    const LowRankMatrix& m = matrices_[matrix];
    const auto merge = fp32_ ? kernels_.merge_fp32 : kernels_.merge_bf16;
    ForElements(m.entry->count, [&](int64_t begin, int64_t count) {
      merge(Gradient(m, begin), Residual(m) + begin, count);
    });
  }

  void Rescale(float factor) override {
    ScaleResidual(pools_.residual.as<float>(), pools_.residual.desc.storage_count(), factor);
  }

 private:
  // What a thread takes at once, at least.
  static constexpr int64_t kRowsAtOnce = 4, kGrain = 4096;

  // Parts of the rows have sums of their own, which are added in order: the result does not depend
  // on the number of threads. Few parts, so that sums take less memory than the matrix.
  void CorrelateParts(const LowRankMatrix& m, const float* values) {
    constexpr int64_t kMostParts = 16, kRowsPerFactor = 8;
    const int64_t parts = std::clamp<int64_t>(m.rows / (kRowsPerFactor * m.rank), 1, kMostParts);
    const int64_t count = m.rank * m.columns;
    sums_.resize(std::max<size_t>(sums_.size(), (parts - 1) * count));
    // The first part's lie in the factor itself.
    const auto sums = [&](int64_t part) {
      return part == 0 ? Right(m) : sums_.data() + (part - 1) * count;
    };
    ParallelFor(parts, 1, [&](int64_t first, int64_t last) {
      for (int64_t part = first; part < last; ++part) {
        kernels_.correlate(values, m.rows, m.columns, Left(m), m.rank, sums(part),
                           m.rows * part / parts, m.rows * (part + 1) / parts);
      }
    });
    ForElements(count, [&](int64_t begin, int64_t elements) {
      for (int64_t part = 1; part < parts; ++part) {
        kernels_.add_fp32(sums(part) + begin, Right(m) + begin, elements);
      }
    });
  }

  // Whether rows lie in the pools as they are.
  static bool InPlace(const LowRankMatrix& m) { return m.entry->layout.plain(); }

  float* Residual(const LowRankMatrix& m) const {
    return pools_.residual.as<float>() + m.entry->offset;
  }
  void* Gradient(const LowRankMatrix& m, int64_t i) const {
    return pools_.gradients.as<char>() +
           (m.entry->offset + i) * SizeOf(pools_.gradients.desc.dtype);
  }
  float* Left(const LowRankMatrix& m) const { return pools_.left.as<float>() + m.left; }
  float* Right(const LowRankMatrix& m) const { return pools_.right.as<float>() + m.right; }

  template <typename Body>
  static void ForElements(int64_t count, const Body& body) {
    ParallelFor(count, kGrain, [&](int64_t begin, int64_t end) { body(begin, end - begin); });
  }

  // A matrix of a pool, and the workspace, as the device converts them.
  static Tensor View(const LowRankMatrix& m, const Tensor& pool) {
    Tensor view = pool;
    view.desc = {m.entry->shape, pool.desc.dtype, m.entry->layout};
    view.data = pool.as<char>() + m.entry->offset * SizeOf(pool.desc.dtype);
    return view;
  }
  Tensor Workspace(const LowRankMatrix& m) {
    Tensor view;
    view.desc = {m.entry->shape, DType::kFP32, Layout()};
    view.data = workspace_.data();
    return view;
  }
  void ToWorkspace(const LowRankMatrix& m) {
    device_->Convert(View(m, pools_.residual), Workspace(m), device_->compute_stream());
  }
  void FromWorkspace(const LowRankMatrix& m, const Tensor& pool) {
    device_->Convert(Workspace(m), View(m, pool), device_->compute_stream());
  }

  // After a sum that is not finite.
  void DropBad(const LowRankMatrix& m) const {
    float* const h = Residual(m);
    for (int64_t i = 0; i < m.entry->count; ++i) {
      if (!std::isfinite(h[i])) h[i] = 0;
    }
  }

  Device* const device_;
  const LowRankPools pools_;
  const std::vector<LowRankMatrix> matrices_;
  const bool fp32_;  // gradients
  const LowRankKernels& kernels_ = LowRank();
  std::vector<float> workspace_;  // one matrix, row-major
  std::vector<float> sums_;       // of CorrelateParts
};

const bool registered = LowRankArithmeticRegistry::Get().Add(
    "cpu",
    [](Device* device, const LowRankPools& pools,
       const std::vector<LowRankMatrix>& matrices) -> std::unique_ptr<LowRankArithmetic> {
      return std::make_unique<CpuLowRankArithmetic>(device, pools, matrices);
    });

}  // namespace
}  // namespace gf
