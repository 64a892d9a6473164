#pragma once

#include <cstdint>
#include <vector>

#include "core/config/job.pb.h"

namespace gf {

// How the outputs of one axis lie over its inputs: output i has its center at
// begin + (i + 0.5) * scale, where input x reaches from x to x + 1, and is an average of inputs
// low <= x < high.
struct Axis {
  int outputs = 0;
  double begin = 0, scale = 1;
  int low = 0, high = 0;

  // Whether every output is one input.
  bool Copies() const { return scale == 1 && begin == static_cast<int>(begin); }
};

// The weights of an axis' inputs. Where it shrinks, a filter is as many times wider than a pixel
// as the axis shrinks, so that nothing is passed over; where it grows, AREA is TRIANGLE. The
// weights of an output have the sum 1.
class Taps {
 public:
  // `outputs` must be at least 1 and some input lie near every output. `fixed_point`: fixed() is
  // computed, otherwise weights().
  void Compute(const Axis& axis, DataConfig::Filter filter, bool fixed_point);

  int outputs() const { return static_cast<int>(starts_.size()); }
  // The inputs that have weights: first() <= x < end().
  int first() const { return first_; }
  int end() const { return end_; }
  // Weights per output, some 0 at the end: a multiple of 4.
  int taps() const { return taps_; }
  // The first input of each output, counted from first(); never falls from one to the next.
  const int* starts() const { return starts_.data(); }
  // taps() weights per output, each written four times.
  const float* weights() const { return weights_.data(); }
  float weight(int output, int tap) const { return weights_[Place(output, tap)]; }
  // The same in units of 2^-22.
  const int32_t* fixed() const { return fixed_.data(); }
  int32_t fixed(int output, int tap) const { return fixed_[Place(output, tap)]; }
  // How many inputs output i really has.
  int count(int output) const { return counts_[output]; }

 private:
  int64_t Place(int output, int tap) const { return (int64_t{output} * taps_ + tap) * 4; }

  int first_ = 0, end_ = 0, taps_ = 0;
  std::vector<int> starts_, counts_;
  std::vector<float> weights_;
  std::vector<int32_t> fixed_;
  std::vector<double> row_;
};

}  // namespace gf
