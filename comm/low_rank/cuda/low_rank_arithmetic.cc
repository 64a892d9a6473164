#include "comm/low_rank/low_rank_arithmetic.h"

#include <algorithm>

#include "comm/feedback/cuda/feedback_kernels.h"
#include "comm/low_rank/cuda/low_rank_kernels.h"
#include "core/cuda/cuda_device.h"

namespace gf {
namespace {

class CudaLowRankArithmetic : public LowRankArithmetic {
 public:
  CudaLowRankArithmetic(Device* device, const LowRankPools& pools,
                        const std::vector<LowRankMatrix>& matrices)
      : device_(device), pools_(pools), matrices_(matrices), type_(pools.gradients.desc.dtype) {
    int64_t longest = 0;
    for (const LowRankMatrix& m : matrices) {
      if (!InPlace(m) || type_ != DType::kFP32) longest = std::max(longest, m.rows * m.columns);
    }
    workspace_ = device->Allocate(longest * sizeof(float));
  }

  void Prepare(int64_t step) override {
    for (size_t i = 0; i < matrices_.size(); ++i) {
      const LowRankMatrix& m = matrices_[i];
      NormalizeRight(Factors(m), step, static_cast<int64_t>(i) * m.rank, stream());
    }
  }

  void Project(int matrix) override {
    const LowRankMatrix& m = matrices_[matrix];
    AddGradients(Gradient(m), type_, Residual(m), m.entry->count, stream());
    ProjectMatrix(Values(m), Factors(m), stream());
  }

  void Orthonormalize(int matrix) override {
    OrthonormalizeLeft(Factors(matrices_[matrix]), stream());
  }

  void Correlate(int matrix) override {
    const LowRankMatrix& m = matrices_[matrix];
    CorrelateMatrix(Values(m), Factors(m), stream());
    if (!InPlace(m)) FromWorkspace(m, pools_.residual);
  }

  void Expand(int matrix) override {
    const LowRankMatrix& m = matrices_[matrix];
    const bool in_place = InPlace(m) && type_ == DType::kFP32;
    ExpandMatrix(in_place ? static_cast<float*>(Gradient(m)) : workspace(), Factors(m), stream());
    if (!in_place) FromWorkspace(m, pools_.gradients);
  }

  void Merge(int matrix) override {
    const LowRankMatrix& m = matrices_[matrix];
    MergeResidualInto(Gradient(m), type_, Residual(m), m.entry->count, stream());
  }

  void Rescale(float factor) override {
    RescaleResidual(pools_.residual.as<float>(), pools_.residual.desc.storage_count(), factor,
                    stream());
  }

 private:
  // Whether rows lie in the pools as they are.
  static bool InPlace(const LowRankMatrix& m) { return m.entry->layout.plain(); }

  float* workspace() const { return static_cast<float*>(workspace_.get()); }
  float* Residual(const LowRankMatrix& m) const {
    return pools_.residual.as<float>() + m.entry->offset;
  }
  void* Gradient(const LowRankMatrix& m) const {
    return pools_.gradients.as<char>() + m.entry->offset * SizeOf(type_);
  }
  GpuFactors Factors(const LowRankMatrix& m) const {
    return {m.rows, m.columns, m.rank, pools_.left.as<float>() + m.left,
            pools_.right.as<float>() + m.right};
  }

  // The residual, row-major.
  float* Values(const LowRankMatrix& m) {
    if (InPlace(m)) return Residual(m);
    device_->Convert(View(m, pools_.residual), Workspace(m), device_->compute_stream());
    return workspace();
  }

  static Tensor View(const LowRankMatrix& m, const Tensor& pool) {
    Tensor view = pool;
    view.desc = {m.entry->shape, pool.desc.dtype, m.entry->layout};
    view.data = pool.as<char>() + m.entry->offset * SizeOf(pool.desc.dtype);
    return view;
  }
  Tensor Workspace(const LowRankMatrix& m) const {
    Tensor view;
    view.desc = {m.entry->shape, DType::kFP32, Layout()};
    view.data = workspace_.get();
    return view;
  }
  void FromWorkspace(const LowRankMatrix& m, const Tensor& pool) {
    device_->Convert(Workspace(m), View(m, pool), device_->compute_stream());
  }

  cudaStream_t stream() const { return RawStream(device_->compute_stream()); }

  Device* const device_;
  const LowRankPools pools_;
  const std::vector<LowRankMatrix> matrices_;
  const DType type_;                 // of gradients
  std::shared_ptr<void> workspace_;  // FP32, one matrix
};

const bool registered = LowRankArithmeticRegistry::Get().Add(
    "cuda",
    [](Device* device, const LowRankPools& pools,
       const std::vector<LowRankMatrix>& matrices) -> std::unique_ptr<LowRankArithmetic> {
      return std::make_unique<CudaLowRankArithmetic>(device, pools, matrices);
    });

}  // namespace
}  // namespace gf
