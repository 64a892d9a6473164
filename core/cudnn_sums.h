#pragma once

#include "core/dtype.h"

namespace gf {

// Whether cuDNN 9 has convolutions that also sum up their results (Device::SumsInConvolutions) for
// GPUs of this major compute capability; //tests/layers/cuda/cudnn:cudnn_plans_test asks it.
constexpr bool HasCudnnSums(int major, DType compute) {
  return compute == DType::kFP16 && (major == 8 || major == 9);
}

}  // namespace gf
