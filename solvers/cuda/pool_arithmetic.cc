#include "solvers/pool_arithmetic.h"

#include "core/cuda/cuda_device.h"
#include "core/cuda/finite_kernels.h"
#include "solvers/cuda/pool_kernels.h"

namespace gf {
namespace {

// Ranges begin at multiples of four elements, like entries.
class CudaPoolArithmetic : public PoolArithmetic {
 public:
  explicit CudaPoolArithmetic(Device* device)
      : device_(device), bad_(device->Allocate(sizeof(int))) {}

  void Add(const Tensor& gradients, const ElementRange& range, const Tensor& sums) override {
    AddGradients(gradients.desc.dtype, At(gradients, range), sums.as<float>() + range.begin,
                 range.end - range.begin, stream());
  }

  void Merge(const Tensor& gradients, const ElementRange& range, const Tensor& sums) override {
    MergeGradients(gradients.desc.dtype, At(gradients, range), sums.as<float>() + range.begin,
                   range.end - range.begin, stream());
  }

  bool Finite(const Tensor& gradients, const ElementRange& range) override {
    device_->Zero(bad_.get(), sizeof(int), device_->compute_stream());
    FindNotFinite(gradients.desc.dtype, At(gradients, range), range.end - range.begin,
                  static_cast<int*>(bad_.get()), stream());
    int bad = 0;
    device_->CopyToHost(bad_.get(), &bad, sizeof(bad), device_->compute_stream());
    return bad == 0;
  }

  void Average(const Tensor& pool, double share, const Tensor& mean) override {
    AverageWeights(pool.as<float>(), static_cast<float>(share), mean.as<float>(),
                   pool.desc.shape.count(), stream());
  }

 private:
  static void* At(const Tensor& pool, const ElementRange& range) {
    return pool.as<char>() + range.begin * SizeOf(pool.desc.dtype);
  }
  cudaStream_t stream() const { return RawStream(device_->compute_stream()); }

  Device* const device_;
  const std::shared_ptr<void> bad_;
};

const bool registered = PoolArithmeticRegistry::Get().Add(
    "cuda", [](Device* device) -> std::unique_ptr<PoolArithmetic> {
      return std::make_unique<CudaPoolArithmetic>(device);
    });

}  // namespace
}  // namespace gf
