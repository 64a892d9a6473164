#pragma once

#include <cstdint>

namespace gf {

constexpr int kCacheLine = 64;  // bytes

// Prefetches memory that will soon be read or written.
inline void PrefetchToRead(const uint8_t* p, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += kCacheLine) __builtin_prefetch(p + i, 0);
}

inline void PrefetchToWrite(const uint8_t* p, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += kCacheLine) __builtin_prefetch(p + i, 1);
}

}  // namespace gf
