#include "comm/periodic/outer_arithmetic.h"

#include "comm/periodic/cuda/outer_kernels.h"
#include "core/cuda/cuda_device.h"
#include "core/cuda/error.h"

namespace gf {
namespace {

class CudaOuterArithmetic : public OuterArithmetic {
 public:
  CudaOuterArithmetic(Device* device, const OuterPools& pools, const OuterFactors& factors)
      : device_(device), pools_(pools), factors_(factors) {}

  void Anchor() override {
    Copy(pools_.weights, pools_.anchor, {0, pools_.anchor.desc.storage_count()});
  }

  void Subtract(const ElementRange& range) override {
    SubtractFromAnchor(At(range), range.end - range.begin, stream());
  }

  void Step(const ElementRange& range) override {
    OuterStep(At(range), range.end - range.begin, 1.f / static_cast<float>(factors_.world),
              factors_.rate, factors_.momentum, stream());
  }

  void Return(const ElementRange& range) override { Copy(pools_.anchor, pools_.weights, range); }

 private:
  cudaStream_t stream() const { return RawStream(device_->compute_stream()); }

  OuterArrays At(const ElementRange& range) const {
    float* const velocity = pools_.velocity.as<float>();
    return {pools_.weights.as<float>() + range.begin, pools_.anchor.as<float>() + range.begin,
            pools_.differences.as<float>() + range.begin,
            velocity == nullptr ? nullptr : velocity + range.begin};
  }

  void Copy(const Tensor& from, const Tensor& to, const ElementRange& range) {
    GF_CUDA(cudaMemcpyAsync(to.as<float>() + range.begin, from.as<float>() + range.begin,
                            (range.end - range.begin) * sizeof(float), cudaMemcpyDeviceToDevice,
                            stream()));
  }

  Device* const device_;
  const OuterPools pools_;
  const OuterFactors factors_;
};

GF_REGISTER(OuterArithmeticRegistry, "cuda", CudaOuterArithmetic);

}  // namespace
}  // namespace gf
