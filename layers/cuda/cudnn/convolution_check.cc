#include "layers/cuda/cudnn/convolution_check.h"

#include <algorithm>
#include <cmath>

#include "core/cuda/error.h"
#include "core/cuda/finite_kernels.h"
#include "layers/cuda/cudnn/own_convolution.h"

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
  const cudaStream_t stream = device_->context().compute_stream()->get();
  GF_CUDA(cudaMemsetAsync(result(), kNan, result_count_ * SizeOf(request_.type), stream));
  GF_CUDA(cudaMemsetAsync(trial_.sums(), kNan, 2 * request_.shape.outputs * sizeof(float), stream));
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
  const double error = difference == 0 ? 0 : std::sqrt(difference / size);
  if (!epilogue.sums || std::isnan(error)) return error;
  return std::max(SumsError(), error);  // NaN stays
}

// The largest error of the sums, in relation to the root of the sum of squares.
double ConvolutionCheck::SumsError() {
  ConvolutionRequest request = request_;
  request.epilogue = {false, false, true};
  const size_t count = 2 * request_.shape.outputs;
  const auto to_host = [&](const void* sums) {
    std::vector<float> values(count);
    device_->CopyToHost(sums, values.data(), count * sizeof(float), device_->compute_stream());
    return values;
  };
  const std::vector<float> found = to_host(trial_.sums());
  const EpilogueKernel own(request, device_);
  const auto sums = device_->Allocate(count * sizeof(float));
  const auto workspace = device_->Allocate(own.workspace_bytes());
  own.Run({nullptr, nullptr, trial_.y(), nullptr, static_cast<float*>(sums.get())},
          workspace.get());
  const std::vector<float> exact = to_host(sums.get());
  const auto pixels =
      static_cast<double>(request_.shape.y_count()) / static_cast<double>(request_.shape.outputs);
  double error = 0;
  for (size_t i = 0; i < count / 2; ++i) {
    const double squares = exact[count / 2 + i];
    const double sum_error = std::abs(found[i] - exact[i]) / std::sqrt(pixels * squares);
    const double square_error = std::abs(found[count / 2 + i] - squares) / squares;
    if (squares == 0) continue;
    if (std::isnan(sum_error + square_error)) return std::nan("");
    error = std::max({error, sum_error, square_error});
  }
  return error;
}

}  // namespace gf
