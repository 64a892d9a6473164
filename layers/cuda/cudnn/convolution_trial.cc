#include "layers/cuda/cudnn/convolution_trial.h"

#include "layers/cuda/random_kernels.h"

namespace gf {

ConvolutionTrial::ConvolutionTrial(const ConvolutionShape& s, DType type, CudaDevice* device)
    : device_(device),
      x_(device->Allocate(s.x_count() * SizeOf(type))),
      w_(device->Allocate(s.w_count() * SizeOf(type))),
      y_(device->Allocate(s.y_count() * SizeOf(type))),
      bias_(device->Allocate(s.outputs * SizeOf(type))),
      sums_(device->Allocate(2 * s.outputs * sizeof(float))) {
  uint64_t stream_id = 0;
  const auto fill = [&](void* data, int64_t count) {
    FillUniform(type, data, count, ++stream_id, device->context().compute_stream()->get());
  };
  fill(x(), s.x_count());
  fill(w(), s.w_count());
  fill(y(), s.y_count());
  fill(bias(), s.outputs);
}

ConvolutionMemory ConvolutionTrial::MemoryFor(const ConvolutionEpilogue& epilogue) const {
  return {x(), w(), y(), epilogue.bias ? bias() : nullptr, epilogue.sums ? sums() : nullptr};
}

float ConvolutionTrial::Milliseconds(const std::function<bool()>& run) {
  constexpr int kCalls = 3;
  if (!run()) return kCannot;
  const cudaStream_t stream = device_->context().compute_stream()->get();
  begin_.Record(stream);
  for (int i = 0; i < kCalls; ++i) run();
  end_.Record(stream);
  end_.Wait();
  return static_cast<float>(1e3 * begin_.SecondsUntil(end_));
}

}  // namespace gf
