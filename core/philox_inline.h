#pragma once

// The generator of core/random.h for kernels compiled by simd_library; it computes sixteen counters
// at once in vector lanes.

#include <cstdint>

namespace gf {

constexpr int kPhiloxCounters = 16;

// words[w][j] = Philox(key, stream, first + j)[w].
static inline void PhiloxBlock(uint64_t key, uint64_t stream, uint64_t first,
                               uint32_t words[4][kPhiloxCounters]) {
#pragma omp simd
  for (int j = 0; j < kPhiloxCounters; ++j) {
    const uint64_t index = first + j;
    uint32_t c0 = static_cast<uint32_t>(index), c1 = static_cast<uint32_t>(index >> 32);
    uint32_t c2 = static_cast<uint32_t>(stream), c3 = static_cast<uint32_t>(stream >> 32);
    uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
#pragma GCC unroll 10
    for (int round = 0; round < 10; ++round) {
      const uint64_t a = uint64_t{0xD2511F53u} * c0, b = uint64_t{0xCD9E8D57u} * c2;
      c0 = static_cast<uint32_t>(b >> 32) ^ c1 ^ k0;
      c1 = static_cast<uint32_t>(b);
      c2 = static_cast<uint32_t>(a >> 32) ^ c3 ^ k1;
      c3 = static_cast<uint32_t>(a);
      k0 += 0x9E3779B9u;
      k1 += 0xBB67AE85u;
    }
    words[0][j] = c0;
    words[1][j] = c1;
    words[2][j] = c2;
    words[3][j] = c3;
  }
}

}  // namespace gf
