#include "layers/cuda/cudnn/convolution_check.h"

#include <algorithm>
#include <cmath>

#include "core/cuda/error.h"
#include "core/cuda/finite_kernels.h"

namespace gf {
namespace {

// One unit in the last place of a 1, twice the largest rounding error. FP32: the order of up to
// millions of additions matters more. TF32: both factors are rounded.
double LargestError(DType type, bool tf32) {
  switch (type) {
    case DType::kFP16:
      return 0x1p-10;
    case DType::kBF16:
      return 0x1p-7;
    default:
      return tf32 ? 0x1p-9 : 1e-4;
  }
}

}  // namespace

ConvolutionCheck::ConvolutionCheck(const ConvolutionRequest& request, const ConvolutionTrial& trial,
                                   CudaDevice* device)
    : request_(request),
      trial_(trial),
      device_(device),
      largest_error_(LargestError(request.type, request.allow_tf32)) {
  const ConvolutionShape& s = request_.shape;
  switch (request_.pass) {
    case ConvolutionPass::kForward:
      result_count_ = s.y_count();
      break;
    case ConvolutionPass::kBackwardData:
      result_count_ = s.x_count();
      break;
    case ConvolutionPass::kBackwardFilter:
      result_count_ = s.w_count();
      break;
  }
  samples_.count = std::min(result_count_, kPlaces);
  samples_.total = result_count_;
  const int64_t values = std::max(samples_.count, s.outputs);  // also of a bias
  memory_ = device_->Allocate(values * sizeof(float));
  samples_.values = static_cast<float*>(memory_.get());
}

void* ConvolutionCheck::result() const {
  switch (request_.pass) {
    case ConvolutionPass::kForward:
      return trial_.y();
    case ConvolutionPass::kBackwardData:
      return trial_.x();
    case ConvolutionPass::kBackwardFilter:
      break;
  }
  return trial_.w();
}

void ConvolutionCheck::ClearResult() {
  constexpr int kNan = 0xff;  // in all bytes of a number of any type
  GF_CUDA(cudaMemsetAsync(result(), kNan, result_count_ * SizeOf(request_.type),
                          device_->context().compute_stream()->get()));
}

bool ConvolutionCheck::AllFinite() {
  const std::shared_ptr<void> bad = device_->Allocate(sizeof(int));
  device_->Zero(bad.get(), sizeof(int), device_->compute_stream());
  FindNotFinite(request_.type, result(), result_count_, static_cast<int*>(bad.get()),
                device_->context().compute_stream()->get());
  int found = 0;
  device_->CopyToHost(bad.get(), &found, sizeof(found), device_->compute_stream());
  return found == 0;
}

std::vector<float> ConvolutionCheck::ToHost(const Samples& samples) {
  std::vector<float> values(samples.count);
  device_->CopyToHost(samples.values, values.data(), values.size() * sizeof(float),
                      device_->compute_stream());
  return values;
}

std::vector<float> ConvolutionCheck::Values(const void* tensor, const Samples& samples) {
  TakeSamples(request_.type, tensor, samples, device_->context().compute_stream()->get());
  return ToHost(samples);
}

std::vector<float> ConvolutionCheck::Exact() {
  const ConvolutionShape& s = request_.shape;
  const cudaStream_t stream = device_->context().compute_stream()->get();
  switch (request_.pass) {
    case ConvolutionPass::kForward:
      DirectForward(s, request_.type, trial_.x(), trial_.w(), samples_, stream);
      break;
    case ConvolutionPass::kBackwardData:
      DirectBackwardData(s, request_.type, samples_, trial_.w(), trial_.y(), stream);
      break;
    case ConvolutionPass::kBackwardFilter:
      DirectBackwardFilter(s, request_.type, trial_.x(), samples_, trial_.y(), stream);
      break;
  }
  return ToHost(samples_);
}

double ConvolutionCheck::Error(const ConvolutionEpilogue& epilogue) {
  if (!AllFinite()) return std::nan("");
  if (exact_.empty()) exact_ = Exact();
  const std::vector<float> results = Values(result(), samples_);
  const int64_t outputs = request_.shape.outputs;
  std::vector<float> bias(outputs);
  if (epilogue.bias) bias = Values(trial_.bias(), {samples_.values, outputs, outputs});
  double difference = 0, size = 0;
  for (int64_t i = 0; i < samples_.count; ++i) {
    double exact = exact_[i];
    if (epilogue.bias) exact += bias[samples_.At(i) % outputs];
    if (epilogue.relu) exact = std::max(exact, 0.0);
    difference += (results[i] - exact) * (results[i] - exact);
    size += exact * exact;
  }
  return difference == 0 ? 0 : std::sqrt(difference / size);
}

}  // namespace gf
