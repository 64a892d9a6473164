#include "comm/feedback/feedback_arithmetic.h"

#include "comm/feedback/cuda/feedback_kernels.h"
#include "core/cuda/cuda_device.h"

namespace gf {
namespace {

class CudaFeedbackArithmetic : public FeedbackArithmetic {
 public:
  CudaFeedbackArithmetic(Device* device, const FeedbackPools& pools)
      : device_(device), pools_(pools) {}

  void Round(const ElementRange& range) override {
    RoundWithFeedback(pools_.gradients.as<float>() + range.begin,
                      pools_.residual.as<float>() + range.begin, range.end - range.begin,
                      pools_.wire, stream());
  }

  void Rescale(float factor) override {
    RescaleResidual(pools_.residual.as<float>(), pools_.residual.desc.storage_count(), factor,
                    stream());
  }

 private:
  cudaStream_t stream() const { return RawStream(device_->compute_stream()); }

  Device* const device_;
  const FeedbackPools pools_;
};

const bool registered = FeedbackArithmeticRegistry::Get().Add(
    "cuda", [](Device* device, const FeedbackPools& pools) -> std::unique_ptr<FeedbackArithmetic> {
      return std::make_unique<CudaFeedbackArithmetic>(device, pools);
    });

}  // namespace
}  // namespace gf
