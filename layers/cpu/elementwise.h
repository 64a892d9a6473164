#pragma once

#include <glog/logging.h>

#include <cstdint>
#include <cstring>

#include "core/dtype.h"
#include "core/parallel.h"
#include "layers/cpu/relu_kernels.h"

namespace gf {

// Minimum number of elements per thread in kernels that work on storage regardless of layout. A
// multiple of 64, the block size of dropout masks.
constexpr int64_t kElementGrain = 1 << 14;

// Selects the functions for a compute type from a table with the members fp32 and bf16.
template <typename Table>
const auto& ForType(const Table& table, DType type) {
  CHECK(type == DType::kFP32 || type == DType::kBF16) << Name(type);
  return type == DType::kBF16 ? table.bf16 : table.fp32;
}

// Address of element i of an array of the given type.
inline void* At(void* data, int64_t i, DType type) {
  return static_cast<char*>(data) + i * static_cast<int64_t>(SizeOf(type));
}
inline const void* At(const void* data, int64_t i, DType type) {
  return static_cast<const char*>(data) + i * static_cast<int64_t>(SizeOf(type));
}

inline float LoadElement(const void* data, int64_t i, DType type) {
  return type == DType::kBF16 ? FromBF16(static_cast<const uint16_t*>(data)[i])
                              : static_cast<const float*>(data)[i];
}
inline void StoreElement(void* data, int64_t i, DType type, float value) {
  if (type == DType::kBF16) {
    static_cast<uint16_t*>(data)[i] = ToBF16(value);
  } else {
    static_cast<float*>(data)[i] = value;
  }
}

// Copies with all compute threads; does nothing if both are the same memory.
inline void CopyStorage(const void* from, void* to, size_t bytes) {
  if (from == to) return;
  ParallelFor(static_cast<int64_t>(bytes), 1 << 16, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                end - begin);
  });
}

// diff[i] = y[i] > 0 ? diff[i] : 0, with all compute threads; y and diff are FP32 or BF16.
inline void MaskByRelu(DType type, const void* y, void* diff, int64_t count) {
  ParallelFor(count, 1024, [&](int64_t begin, int64_t end) {
    if (type == DType::kFP32) {
      ReluMask().fp32(static_cast<const float*>(y) + begin, static_cast<float*>(diff) + begin,
                      end - begin);
    } else {
      ReluMask().bf16(static_cast<const uint16_t*>(y) + begin, static_cast<uint16_t*>(diff) + begin,
                      end - begin);
    }
  });
}

}  // namespace gf
