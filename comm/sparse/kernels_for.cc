#include <glog/logging.h>

#include "comm/sparse/kernels.h"

namespace gf {

const SparseFunctions& SparseFor(DType gradient, DType packed) {
  CHECK(gradient == DType::kFP32 || gradient == DType::kBF16)
      << "no gradient pools in " << Name(gradient);
  const SparseKernels& kernels = Sparse();
  const bool fp32 = gradient == DType::kFP32;
  switch (packed) {
    case DType::kFP32:
      return fp32 ? kernels.fp32_fp32 : kernels.bf16_fp32;
    case DType::kBF16:
      return fp32 ? kernels.fp32_bf16 : kernels.bf16_bf16;
    case DType::kFP16:
      return fp32 ? kernels.fp32_fp16 : kernels.bf16_fp16;
    default:
      LOG(FATAL) << "no wire type " << Name(packed);
  }
}

}  // namespace gf
