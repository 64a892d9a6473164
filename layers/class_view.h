#pragma once

#include <cstdint>

namespace gf {

// A plain tensor of class scores seen as [outer][classes][inner].
struct ClassAxis {
  int64_t outer = 0, classes = 0, inner = 0;
  constexpr int64_t predictions() const { return outer * inner; }
};

}  // namespace gf
