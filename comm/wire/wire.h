#pragma once

#include <glog/logging.h>

#include "comm/wire/wire_kernels.h"
#include "core/dtype.h"

namespace gf {

// The member of a table of kernels for numbers that lie in memory as `own` (FP32 or BF16) and are
// sent or packed as `wire` (FP32, BF16 or FP16); members are named own_wire.
template <typename Kernels>
const auto& ForTypes(const Kernels& kernels, DType own, DType wire) {
  CHECK(own == DType::kFP32 || own == DType::kBF16) << "no sums in " << Name(own);
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

// The wire kernels of this machine for two types.
inline const WireFunctions& WireFor(DType own, DType wire) { return ForTypes(Wires(), own, wire); }

}  // namespace gf
