#pragma once

#include <cstdint>

#include "core/random.h"
#include "layers/draws.h"

namespace gf {

constexpr bool Keeps(const KeepDraws& draws, uint64_t i) {
  return Philox(draws.key, draws.stream, i / 4)[i % 4] >> 8 >= draws.threshold;
}

}  // namespace gf
