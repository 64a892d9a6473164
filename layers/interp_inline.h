#pragma once

// Resizing along an axis, for processors and GPUs.

#include "core/host_device.h"

namespace gf {

// Linear interpolation with aligned corners: the first and the last pixel stay where they are.
// Pixel o of the result lies at o * (in - 1) / (out - 1) of the source, at 0 if out is 1. Each
// source pixel has a share in the result pixels less than one pixel away. Extents are at most
// kMost, so that their products fit in 31 bits.
class InterpAxis {
 public:
  static constexpr int kMost = 1 << 15;

  struct Range {
    int begin, end;  // [begin, end)
  };

  InterpAxis() = default;
  InterpAxis(int in, int out)
      : in_(in), out_(out), steps_(out > 1 ? out - 1 : 1), step_(1 / static_cast<float>(steps_)) {}

  GF_HOST_DEVICE int in() const { return in_; }
  GF_HOST_DEVICE int out() const { return out_; }

  // The source pixels with a share in result pixel o: one or two.
  GF_HOST_DEVICE Range Sources(int o) const {
    const int at = o * (in_ - 1), begin = at / steps_;
    return {begin, begin + (at % steps_ > 0 ? 2 : 1)};
  }
  // The result pixels in which source pixel i has a share; may be none.
  GF_HOST_DEVICE Range Results(int i) const {
    const int last = in_ - 1;
    return {i == 0 ? 0 : (i - 1) * steps_ / last + 1,
            i == last ? out_ : ((i + 1) * steps_ + last - 1) / last};
  }
  // The share of source pixel i in result pixel o, where there is one: 1 minus their distance.
  GF_HOST_DEVICE float Share(int o, int i) const {
    const int distance = o * (in_ - 1) - i * steps_;
    return 1 - static_cast<float>(distance < 0 ? -distance : distance) * step_;
  }

 private:
  int in_ = 1, out_ = 1;
  int steps_ = 1;   // from the first to the last result pixel, at least 1
  float step_ = 1;  // the inverse
};

}  // namespace gf
