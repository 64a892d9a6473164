#pragma once

#include <cstdint>

namespace gf {

// Random choices of the parts of a tensor to keep: part i is kept if the upper 24 bits of word
// i % 4 of Philox(key, stream, i / 4) are at least `threshold`.
struct KeepDraws {
  uint64_t key, stream;
  uint32_t threshold;
};

}  // namespace gf
