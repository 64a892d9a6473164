#pragma once

#include <cstdint>
#include <string>

namespace gf {

// What operations of a step are told apart, in the order of reports.
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

// How the factors of products are multiplied.
enum class Arithmetic { kFP32, kTF32, kFP16, kBF16 };

// One call that a step makes of a GPU, or a few that belong together.
struct Operation {
  OperationKind kind = OperationKind::kOther;
  std::string layer;      // empty: of no layer
  bool backward = false;  // of the backward pass
  // Kernels, library calls, copies and fills that go on a stream.
  int launches = 1;
  // Bytes of the GPU's memory that it reads and writes at least. Each tensor counts once per
  // operation; vectors with a few numbers per channel do not count.
  int64_t bytes = 0;
  // Of products only: 2 per multiply-add.
  int64_t flops = 0;
  Arithmetic arithmetic = Arithmetic::kFP32;
};

}  // namespace gf
