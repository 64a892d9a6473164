#include "layers/input.h"

#include <glog/logging.h>

#include <cstring>

#include "core/parallel.h"
#include "layers/cpu/input_kernels.h"
#include "layers/kernel.h"

namespace gf {
namespace {

// Normalises, casts and lays out a batch in one pass.
class InputKernel : public Kernel {
 public:
  InputKernel(const InputLayer& layer, const KernelContext& context)
      : layer_(layer), context_(context) {}

  void Plan(KernelPlan* plan) override { tops_ = plan->tops; }

  void Forward(const KernelArgs& args) override {
    for (size_t i = 0; i < tops_.size(); ++i) {
      if (layer_.IsImage(static_cast<int>(i))) {
        Images(*args.batch, tops_[i].shape, args.tops[i]);
      } else {
        const auto& labels = args.batch->labels;
        std::memset(args.tops[i], 0, tops_[i].bytes());
        CHECK_LE(labels.size(), static_cast<size_t>(tops_[i].shape.count()));
        std::memcpy(args.tops[i], labels.data(), labels.size() * sizeof(int64_t));
      }
    }
  }

 private:
  void Images(const Batch& batch, const Shape& shape, void* top) const {
    CHECK(batch.images.desc.shape == shape) << batch.images.desc.shape.ToString();
    const int64_t n = shape[0], channels = shape[1], pixels = shape[2] * shape[3];
    if (batch.images.desc.dtype == DType::kFP32) {
      Tensor to;
      to.desc = {shape, context_.compute, Layout()};
      to.data = top;
      context_.device->Convert(batch.images, to, context_.device->compute_stream());
      return;
    }
    std::vector<float> mean(channels, 0), inverse_std(channels, 1);
    if (!batch.mean.empty()) mean = batch.mean;
    if (!batch.inverse_std.empty()) inverse_std = batch.inverse_std;
    const auto* from = batch.images.as<const uint8_t>();
    ParallelFor(n, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t at = i * channels * pixels;
        const int c = static_cast<int>(channels);
        if (context_.compute == DType::kFP32) {
          InputTable().fp32(from + at, pixels, c, mean.data(), inverse_std.data(),
                            static_cast<float*>(top) + at);
        } else {
          InputTable().bf16(from + at, pixels, c, mean.data(), inverse_std.data(),
                            static_cast<uint16_t*>(top) + at);
        }
      }
    });
  }

  const InputLayer& layer_;
  KernelContext context_;
  std::vector<TensorDesc> tops_;
};

GF_REGISTER_KERNEL("cpu/Input", InputLayer, InputKernel);

}  // namespace
}  // namespace gf
