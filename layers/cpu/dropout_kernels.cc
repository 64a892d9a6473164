#include "layers/cpu/dropout_kernels.h"

#include "core/bf16_inline.h"
#include "core/philox_inline.h"

namespace gf {
namespace {

constexpr int kBlock = 4 * kPhiloxCounters;

// Sets keep[0, kBlock) for the elements whose counters start at `first`.
inline void KeepBlock(const KeepDraws& draws, uint64_t first, uint8_t* keep) {
  uint32_t words[4][kPhiloxCounters];
  PhiloxBlock(draws.key, draws.stream, first, words);
  for (int j = 0; j < kPhiloxCounters; ++j) {
    for (int w = 0; w < 4; ++w) keep[4 * j + w] = (words[w][j] >> 8) >= draws.threshold;
  }
}

template <typename T>
inline void Apply(const T* x, const uint8_t* keep, T* y, float scale, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t i = begin; i < end; ++i) Store(y + i, keep[i] ? scale * Load(x + i) : 0.f);
}

template <typename T>
void Forward(const void* x, void* y, uint8_t* keep, float scale, const KeepDraws& draws,
             int64_t begin, int64_t end) {
  for (int64_t at = begin; at < end; at += kBlock) {
    const int64_t stop = end - at < kBlock ? end : at + kBlock;
    if (stop - at == kBlock) {
      KeepBlock(draws, at / 4, keep + at);
    } else {
      uint8_t block[kBlock];
      KeepBlock(draws, at / 4, block);
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
