#pragma once

#include <cstdint>

#include "core/shape.h"

namespace gf {

// A plain tensor of class scores seen as [outer][classes][inner].
struct ClassAxis {
  int64_t outer = 0, classes = 0, inner = 0;
  constexpr int64_t predictions() const { return outer * inner; }
};

// The view of scores whose axis `axis` (not negative) holds the classes.
inline ClassAxis ClassAxisOf(const Shape& scores, int axis) {
  return {scores.count(0, axis), scores[axis], scores.count(axis + 1, scores.rank())};
}

}  // namespace gf
