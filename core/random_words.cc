#include "core/random_words.h"

#include "core/philox_inline.h"

namespace gf {
namespace {

void Fill(uint64_t key, uint64_t stream, uint64_t begin, int64_t count, uint32_t* words) {
  constexpr int64_t kBlock = 4 * kPhiloxCounters;
  for (int64_t at = 0; at < count; at += kBlock) {
    uint32_t block[4][kPhiloxCounters];
    PhiloxBlock(key, stream, begin / 4 + at / 4, block);
    const int64_t stop = count - at < kBlock ? count - at : kBlock;
    if (stop == kBlock) {
      for (int i = 0; i < kBlock; ++i) words[at + i] = block[i % 4][i / 4];
    } else {
      for (int64_t i = 0; i < stop; ++i) words[at + i] = block[i % 4][i / 4];
    }
  }
}

}  // namespace

GF_SIMD_DEFINE(RandomWordsKernels, RandomWords) = {&Fill};

}  // namespace gf
