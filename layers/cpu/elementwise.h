#pragma once

#include <glog/logging.h>

#include <cstdint>
#include <cstring>

#include "core/dtype.h"
#include "core/parallel.h"
#include "layers/cpu/relu_kernels.h"

namespace gf {

// Kernels that work on storage, whatever the layout, give each thread at least so many
// elements. A multiple of 64: dropout's masks are made in blocks of that size.
constexpr int64_t kElementGrain = 1 << 14;

// The functions for a compute type out of a table with the members fp32 and bf16.
template <typename Table>
const auto& ForType(const Table& table, DType type) {
  CHECK(type == DType::kFP32 || type == DType::kBF16) << Name(type);
  return type == DType::kBF16 ? table.bf16 : table.fp32;
}

// Element i of an array of a type.
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

// Copies with all threads; nothing to do if both are the same memory.
inline void CopyStorage(const void* from, void* to, size_t bytes) {
  if (from == to) return;
  ParallelFor(static_cast<int64_t>(bytes), 1 << 16, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                end - begin);
  });
}

// diff[i] = y[i] > 0 ? diff[i] : 0, for y and diff in FP32 or BF16, by all compute threads.
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
