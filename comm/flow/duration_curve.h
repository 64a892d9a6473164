#pragma once

#include <cstdint>
#include <vector>

namespace gf {

// How long an operation takes at the sizes at which it was measured, and so at others.
class DurationCurve {
 public:
  // Sizes in bytes ascend from call to call.
  void Add(int64_t bytes, double seconds);
  bool empty() const { return points_.empty(); }

  // Between two measured sizes: the straight line. Below the smallest: its time. Beyond the
  // largest: the line through it and the next smaller one of at most a fourth (or the smallest), or
  // in proportion if there is one size only. At least one size was added.
  double Seconds(int64_t bytes) const;

 private:
  struct Point {
    double bytes, seconds;
  };

  std::vector<Point> points_;
};

}  // namespace gf
