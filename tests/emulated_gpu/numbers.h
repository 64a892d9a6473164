#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace gf::emulated {

enum class Number { kFloat, kHalf, kBfloat16 };

// Element i of an array.
inline float Load(Number type, const void* data, int64_t i) {
  switch (type) {
    case Number::kHalf:
      return __half2float(static_cast<const __half*>(data)[i]);
    case Number::kBfloat16:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[i]);
    default:
      return static_cast<const float*>(data)[i];
  }
}

inline void Store(Number type, void* data, int64_t i, float value) {
  switch (type) {
    case Number::kHalf:
      static_cast<__half*>(data)[i] = __float2half_rn(value);
      return;
    case Number::kBfloat16:
      static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16_rn(value);
      return;
    default:
      static_cast<float*>(data)[i] = value;
  }
}

}  // namespace gf::emulated
