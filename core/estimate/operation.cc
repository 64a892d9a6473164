#include "core/estimate/operation.h"

namespace gf {

const char* Name(OperationKind kind) {
  switch (kind) {
    case OperationKind::kConvolutionForward:
      return "convolution forward";
    case OperationKind::kConvolutionWeights:
      return "convolution weights";
    case OperationKind::kConvolutionData:
      return "convolution data";
    case OperationKind::kMatmul:
      return "matrix products";
    case OperationKind::kBatchNormStatistics:
      return "batch norm statistics";
    case OperationKind::kBatchNormApply:
      return "batch norm apply";
    case OperationKind::kBatchNormSums:
      return "batch norm gradient sums";
    case OperationKind::kBatchNormGradient:
      return "batch norm gradient apply";
    case OperationKind::kBiasGradient:
      return "bias gradients";
    case OperationKind::kPooling:
      return "pooling";
    case OperationKind::kEltwise:
      return "eltwise";
    case OperationKind::kLoss:
      return "loss";
    case OperationKind::kInput:
      return "input";
    case OperationKind::kUpdate:
      return "update";
    case OperationKind::kOther:
    case OperationKind::kCount:
      break;
  }
  return "other";
}

}  // namespace gf
