#include "layers/cpu/dropout_kernels.h"

#include "core/bf16_inline.h"

namespace gf {
namespace {

constexpr int kCounters = 16;
constexpr int kBlock = 4 * kCounters;

// keep[0, 64) of the elements of counters [first, first + 16). The generator is the one of
// core/random.h, written so that the counters lie in the lanes of vectors.
inline void KeepBlock(const DropoutStream& random, uint64_t first, uint8_t* keep) {
  uint32_t words[4][kCounters];
#pragma omp simd
  for (int j = 0; j < kCounters; ++j) {
    const uint64_t index = first + j;
    uint32_t c0 = static_cast<uint32_t>(index), c1 = static_cast<uint32_t>(index >> 32);
    uint32_t c2 = static_cast<uint32_t>(random.stream);
    uint32_t c3 = static_cast<uint32_t>(random.stream >> 32);
    uint32_t k0 = static_cast<uint32_t>(random.key), k1 = static_cast<uint32_t>(random.key >> 32);
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
  for (int j = 0; j < kCounters; ++j) {
    for (int w = 0; w < 4; ++w) keep[4 * j + w] = (words[w][j] >> 8) >= random.threshold;
  }
}

template <typename T>
inline void Apply(const T* x, const uint8_t* keep, T* y, float scale, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) Store(y + i, keep[i] ? scale * Load(x + i) : 0.f);
}

template <typename T>
void Forward(const void* x, void* y, uint8_t* keep, float scale, const DropoutStream& random,
             int64_t begin, int64_t end) {
  for (int64_t at = begin; at < end; at += kBlock) {
    const int64_t stop = end - at < kBlock ? end : at + kBlock;
    if (stop - at == kBlock) {
      KeepBlock(random, at / 4, keep + at);
    } else {
      uint8_t block[kBlock];
      KeepBlock(random, at / 4, block);
      for (int64_t i = at; i < stop; ++i) keep[i] = block[i - at];
    }
    Apply(static_cast<const T*>(x), keep, static_cast<T*>(y), scale, at, stop);
  }
}

template <typename T>
void Backward(const void* dy, const uint8_t* keep, void* dx, float scale, int64_t begin,
              int64_t end) {
  Apply(static_cast<const T*>(dy), keep, static_cast<T*>(dx), scale, begin, end);
}

}  // namespace

GF_SIMD_DEFINE(DropoutKernels, Dropout) = {{&Forward<float>, &Backward<float>},
                                           {&Forward<uint16_t>, &Backward<uint16_t>}};

}  // namespace gf
