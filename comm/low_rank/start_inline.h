#pragma once

#include <cstdint>

#include "core/host_device.h"

namespace gf {

// Element i of a random factor, uniform in [-1, 1): a pure function, the same on every rank. The
// finalizer of SplitMix64 (Steele et al., 2014) mixes its arguments.
GF_HOST_DEVICE inline float RandomFactor(int64_t step, int64_t column, int64_t i) {
  uint64_t x = static_cast<uint64_t>(step) * 0x9e3779b97f4a7c15u;
  for (const uint64_t more : {static_cast<uint64_t>(column), static_cast<uint64_t>(i)}) {
    x += more + 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
  }
  return static_cast<float>(static_cast<int32_t>(x >> 40) - (1 << 23)) * 0x1p-23f;
}

}  // namespace gf
