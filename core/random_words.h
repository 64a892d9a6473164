#pragma once

#include <cstdint>

#include "core/simd.h"

namespace gf {

// Words of one Philox stream (core/random.h) in bulk.
struct RandomWordsKernels {
  // words[i] = word (begin + i) % 4 of Philox(key, stream, (begin + i) / 4) for i < count.
  // begin is a multiple of 4.
  void (*fill)(uint64_t key, uint64_t stream, uint64_t begin, int64_t count, uint32_t* words);
};
GF_SIMD_DECLARE(RandomWordsKernels, RandomWords)

}  // namespace gf
