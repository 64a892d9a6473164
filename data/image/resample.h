#pragma once

#include <cstdint>
#include <vector>

#include "core/config/job.pb.h"

namespace gf {

// Positions of the outputs of one axis relative to its inputs. Input x extends from x to x + 1.
// Output i has its center at begin + (i + 0.5) * scale and averages inputs low <= x < high.
struct Axis {
  int outputs = 0;
  double begin = 0, scale = 1;
  int low = 0, high = 0;

  // Whether every output equals one input.
  bool Copies() const { return scale == 1 && begin == static_cast<int>(begin); }
};

// The weights of the inputs of an axis. If the axis shrinks by a factor, the filter is wider than a
// pixel by the same factor, so that every input counts. If the axis grows, AREA acts as TRIANGLE.
// The weights of an output sum to 1.
class Taps {
 public:
  // axis.outputs must be at least 1, and every output must have an input near it. `fixed_point`
  // selects whether fixed() or weights() is computed.
  void Compute(const Axis& axis, DataConfig::Filter filter, bool fixed_point);

  int outputs() const { return static_cast<int>(starts_.size()); }
  // The inputs with weights: first() <= x < end().
  int first() const { return first_; }
  int end() const { return end_; }
  // Number of weights per output, a multiple of 4; the last ones may be 0.
  int taps() const { return taps_; }
  // The first input of each output, counted from first(); never decreases.
  const int* starts() const { return starts_.data(); }
  // taps() weights per output, each repeated four times.
  const float* weights() const { return weights_.data(); }
  float weight(int output, int tap) const { return weights_[Place(output, tap)]; }
  // The same weights in units of 2^-22.
  const int32_t* fixed() const { return fixed_.data(); }
  int32_t fixed(int output, int tap) const { return fixed_[Place(output, tap)]; }
  // Number of inputs of an output, without the zeros at the end.
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
