#pragma once

#include <cstdint>

#include "layers/class_axis.h"

namespace gf {

// The numbers that an ArgMaxLayer ranks, and its top.
struct Ranking {
  // FP32 holds the indices below exactly.
  static constexpr int64_t kMostClasses = int64_t{1} << 24;

  ClassAxis view;  // what is ranked are the classes of each prediction
  int64_t top_k = 1;
  bool indices = true, numbers = false;  // what the top holds; numbers follow the indices

  // Where a prediction's class 0 lies in the bottom; its classes follow at distances of view.inner.
  constexpr int64_t StartOf(int64_t prediction) const {
    return prediction / view.inner * view.classes * view.inner + prediction % view.inner;
  }
  // Where the result for the class of this rank (0: the highest number) lies in the top. Where the
  // top holds both, it is the index, and the number lies NumberAfter() elements later.
  constexpr int64_t ResultAt(int64_t prediction, int64_t rank) const {
    const int64_t results = indices && numbers ? 2 * top_k : top_k;
    return (prediction / view.inner * results + rank) * view.inner + prediction % view.inner;
  }
  constexpr int64_t NumberAfter() const { return indices ? top_k * view.inner : 0; }
};

// A key by which classes are ranked, more than 0 and less than UINT64_MAX: a higher number has a
// higher key, and so has NaN; among equal numbers the lower class. `bits`: of the FP32 number.
constexpr uint64_t RankKey(uint32_t bits, int64_t c) {
  constexpr uint32_t kSign = uint32_t{1} << 31, kInfinity = 0x7f800000;
  const uint32_t magnitude = bits & ~kSign;
  uint32_t order = (bits & kSign) != 0 ? ~bits : bits | kSign;
  if (magnitude == 0) order = kSign;  // -0 equals 0
  if (magnitude > kInfinity) order = UINT32_MAX;
  return uint64_t{order} << 32 | static_cast<uint32_t>(Ranking::kMostClasses - c);
}

// The class of a key.
constexpr int64_t RankedClass(uint64_t key) {
  return Ranking::kMostClasses - static_cast<uint32_t>(key);
}

}  // namespace gf
