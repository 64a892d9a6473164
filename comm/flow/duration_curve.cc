#include "comm/flow/duration_curve.h"

#include <glog/logging.h>

#include <algorithm>

namespace gf {
namespace {

// The ratio of the two sizes through which the line beyond the largest goes, at least.
constexpr double kLongStretch = 4;

}  // namespace

void DurationCurve::Add(int64_t bytes, double seconds) {
  const double b = static_cast<double>(bytes);
  CHECK(points_.empty() || b > points_.back().bytes) << bytes;
  points_.push_back({b, seconds});
}

double DurationCurve::Seconds(int64_t bytes) const {
  const double b = static_cast<double>(bytes);
  if (b <= points_.front().bytes) return points_.front().seconds;
  size_t high = 0;
  while (high + 1 < points_.size() && points_[high].bytes < b) ++high;
  // Beyond the last size a short stretch would magnify its errors.
  const double stretch = b > points_[high].bytes ? kLongStretch : 1;
  size_t low = high;
  while (low > 0 && (low == high || points_[low].bytes * stretch > points_[high].bytes)) --low;
  const Point &from = points_[low], &to = points_[high];
  if (low == high) return to.seconds * b / to.bytes;
  double slope = (to.seconds - from.seconds) / (to.bytes - from.bytes);
  // More bytes never take less time: what was measured so was disturbed.
  if (b > to.bytes) slope = std::max(slope, 0.0);
  return to.seconds + slope * (b - to.bytes);
}

}  // namespace gf
