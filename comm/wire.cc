#include <glog/logging.h>

#include "comm/wire_kernels.h"

namespace gf {

const WireFunctions& WireFor(DType own, DType wire) {
  CHECK(own == DType::kFP32 || own == DType::kBF16) << "no sums in " << Name(own);
  const WireKernels& kernels = Wires();
  const bool fp32 = own == DType::kFP32;
  switch (wire) {
    case DType::kFP32:
      return fp32 ? kernels.fp32_fp32 : kernels.bf16_fp32;
    case DType::kBF16:
      return fp32 ? kernels.fp32_bf16 : kernels.bf16_bf16;
    case DType::kFP16:
      return fp32 ? kernels.fp32_fp16 : kernels.bf16_fp16;
    default:
      LOG(FATAL) << "no wire type " << Name(wire);
  }
}

}  // namespace gf
