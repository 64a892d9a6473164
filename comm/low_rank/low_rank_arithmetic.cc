#include "comm/low_rank/low_rank_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "comm/feedback/feedback_arithmetic.h"
#include "comm/low_rank/kernels.h"
#include "comm/low_rank/matrix_work.h"
#include "comm/low_rank/orthonormal.h"
#include "core/parallel.h"

namespace gf {
namespace {

class CpuLowRankArithmetic : public LowRankArithmetic {
 public:
  CpuLowRankArithmetic(Device* device, const LowRankPools& pools,
                       const std::vector<LowRankMatrix>& matrices)
      : pools_(pools), matrices_(matrices) {
    int64_t workspace = 0;
    for (const LowRankMatrix& m : matrices_) workspace = std::max(workspace, MatrixWorkspace(m));
    workspace_ = std::vector<float>(workspace);
    for (const LowRankMatrix& m : matrices_) {
      const MatrixMemory memory = {
          m.rows,      m.columns, m.rank,  Gradient(m), pools.gradients.desc.dtype,
          Residual(m), Left(m),   Right(m)};
      work_.push_back(NewMatrixWork(m, memory, device, workspace_.data()));
    }
  }

  void Prepare(int64_t step) override {
    ParallelFor(static_cast<int64_t>(matrices_.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const LowRankMatrix& m = matrices_[i];
        NormalizeColumns(Right(m), m.columns, m.rank, step, i * m.rank);
      }
    });
  }

  void Project(int matrix) override { work_[matrix]->Project(); }

  void Orthonormalize(int matrix) override {
    const LowRankMatrix& m = matrices_[matrix];
    MakeOrthonormal(Left(m), m.rows, m.rank);
  }

  void Correlate(int matrix) override {
    const LowRankMatrix& m = matrices_[matrix];
    if (std::isnan(*Left(m))) return DropBad(m);
    work_[matrix]->Correlate();
  }

  void Expand(int matrix) override { work_[matrix]->Expand(); }

  void Settle() override {
    for (const auto& work : work_) work->Settle();
  }

  void Merge(int matrix) override {
    work_[matrix]->Settle();
    const LowRankMatrix& m = matrices_[matrix];
    const bool fp32 = pools_.gradients.desc.dtype == DType::kFP32;
    const auto merge = fp32 ? LowRank().merge_fp32 : LowRank().merge_bf16;
    constexpr int64_t kGrain = 4096;
    ParallelFor(m.entry->count, kGrain, [&](int64_t begin, int64_t end) {
      merge(Gradient(m, begin), Residual(m) + begin, end - begin);
    });
  }

  void Rescale(float factor) override {
    Settle();
    ScaleResidual(pools_.residual.as<float>(), pools_.residual.desc.storage_count(), factor);
  }

 private:
  float* Residual(const LowRankMatrix& m) const {
    return pools_.residual.as<float>() + m.entry->offset;
  }
  void* Gradient(const LowRankMatrix& m, int64_t i = 0) const {
    return pools_.gradients.as<char>() +
           (m.entry->offset + i) * SizeOf(pools_.gradients.desc.dtype);
  }
  float* Left(const LowRankMatrix& m) const { return pools_.left.as<float>() + m.left; }
  float* Right(const LowRankMatrix& m) const { return pools_.right.as<float>() + m.right; }

  // After a sum that is not finite.
  void DropBad(const LowRankMatrix& m) const {
    float* const h = Residual(m);
    for (int64_t i = 0; i < m.entry->count; ++i) {
      if (!std::isfinite(h[i])) h[i] = 0;
    }
  }

  const LowRankPools pools_;
  const std::vector<LowRankMatrix> matrices_;
  std::vector<float> workspace_;  // of matrices that the device converts
  std::vector<std::unique_ptr<MatrixWork>> work_;
};

const bool registered = LowRankArithmeticRegistry::Get().Add(
    "cpu",
    [](Device* device, const LowRankPools& pools,
       const std::vector<LowRankMatrix>& matrices) -> std::unique_ptr<LowRankArithmetic> {
      return std::make_unique<CpuLowRankArithmetic>(device, pools, matrices);
    });

}  // namespace
}  // namespace gf
