#include "core/shape.h"

#include <glog/logging.h>

namespace gf {

int64_t Shape::operator[](int i) const {
  const int at = i < 0 ? i + rank() : i;
  CHECK(at >= 0 && at < rank()) << "axis " << i << " of " << ToString();
  return dims_[at];
}

int64_t Shape::count(int begin, int end) const {
  CHECK(0 <= begin && begin <= end && end <= rank()) << ToString();
  int64_t n = 1;
  for (int i = begin; i < end; ++i) {
    CHECK(!__builtin_mul_overflow(n, dims_[i], &n)) << "element count overflows: " << ToString();
  }
  return n;
}

std::string Shape::ToString() const {
  std::string text;
  for (int64_t d : dims_) text += (text.empty() ? "" : "x") + std::to_string(d);
  return text.empty() ? "scalar" : text;
}

bool IsSane(const Shape& shape) {
  int64_t n = 1;
  for (int64_t d : shape.dims()) {
    if (d <= 0 || __builtin_mul_overflow(n, d, &n) || n > kMaxElements) return false;
  }
  return true;
}

std::string Impossible(const Shape& shape, const std::string& what) {
  static_assert(kMaxElements == int64_t{1} << 40, "the message says so");
  return "impossible " + what + " " + shape.ToString() +
         ", expected sides of 1 or more and at most " + std::to_string(kMaxElements) +
         " (2^40) elements";
}

}  // namespace gf
