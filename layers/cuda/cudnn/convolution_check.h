#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/cuda/cuda_device.h"
#include "layers/cuda/cudnn/convolution_trial.h"
#include "layers/cuda/cudnn/cudnn_convolution.h"
#include "layers/cuda/direct_convolution_kernels.h"

namespace gf {

// Compares an engine's results on the tensors of a trial with the definition of the convolution, at
// up to 256 places of the result, which take milliseconds. An engine whose results are far off at
// one of a hundred places is found with a probability of 92%.
class ConvolutionCheck {
 public:
  static constexpr int64_t kPlaces = 256;

  // The trial must outlive the check.
  ConvolutionCheck(const ConvolutionRequest& request, const ConvolutionTrial& trial,
                   CudaDevice* device);

  // Fills the result tensor and the sums with NaN, to be called before the engine runs.
  void ClearResult();
  // Checks the result tensor as the compute stream has last written it, with this epilogue applied.
  // Returns |result - exact| / |exact| over the places, or the error of the sums if that is larger.
  // Returns NaN if a result anywhere in the tensor or a sum is not finite or was not written.
  double Error(const ConvolutionEpilogue& epilogue);
  // The largest error of an engine that sums in FP32 and rounds to the type of the results once.
  double largest_error() const { return largest_error_; }

 private:
  void* result() const;
  double SumsError();
  bool AllFinite();
  // Of a tensor of the trial at the samples.
  std::vector<float> Values(const void* tensor, const Samples& samples);
  std::vector<float> ToHost(const Samples& samples);
  std::vector<float> Exact();

  const ConvolutionRequest request_;
  const ConvolutionTrial& trial_;
  CudaDevice* const device_;
  int64_t result_count_ = 0;
  double largest_error_ = 0;
  std::shared_ptr<void> memory_;  // of the samples
  Samples samples_;
  std::vector<float> exact_;  // before any epilogue; empty until it is needed
};

}  // namespace gf
