#pragma once

#include <cstdint>
#include <string>

namespace gf {

// Kinds of operations in a step, in the order of reports.
enum class OperationKind {
  kConvolutionForward,
  kConvolutionWeights,
  kConvolutionData,
  kMatmul,
  kBatchNormStatistics,
  kBatchNormApply,
  kBatchNormSums,
  kBatchNormGradient,
  kBiasGradient,
  kPooling,
  kEltwise,
  kLoss,
  kInput,
  kUpdate,
  kOther,
  kCount,
};

// "convolution forward"
const char* Name(OperationKind kind);

// Number type of the factors of products.
enum class Arithmetic { kFP32, kTF32, kFP16, kBF16 };

// One call of the GPU within a step, or a few related calls.
struct Operation {
  OperationKind kind = OperationKind::kOther;
  std::string layer;      // empty if it belongs to no layer
  bool backward = false;  // whether it belongs to the backward pass
  // Number of kernels, library calls, copies and fills.
  int launches = 1;
  // Minimum bytes of GPU memory read and written. Each tensor counts once per operation; vectors
  // with a few numbers per channel do not count.
  int64_t bytes = 0;
  // FLOPs of products only; a multiply-add counts as 2.
  int64_t flops = 0;
  Arithmetic arithmetic = Arithmetic::kFP32;
};

}  // namespace gf
