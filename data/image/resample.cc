#include "data/image/resample.h"

#include <algorithm>
#include <cmath>

#include "data/image/resample_kernels.h"

namespace gf {
namespace {

// Smaller than any relevant part of a pixel, larger than rounding errors.
constexpr double kTiny = 1e-9;
constexpr double kUnits = 1 << ResampleKernels::kFixedBits;
constexpr double kPi = 3.14159265358979324;

double Sinc(double x) { return x == 0 ? 1 : std::sin(kPi * x) / (kPi * x); }

// Radius of a filter, in units of the distance between outputs.
double Support(DataConfig::Filter filter) {
  switch (filter) {
    case DataConfig::TRIANGLE:
      return 1;
    case DataConfig::AREA:
      return 0.5;
    case DataConfig::LANCZOS:
      return 3;
  }
  return 1;
}

// The weight of the input from x to x + 1, relative to the output's center, for a filter that is
// `width` times as wide as without resizing.
double Weight(DataConfig::Filter filter, double x, double width) {
  if (filter == DataConfig::AREA) {
    return std::max(0.0, std::min(x + 1, width / 2) - std::max(x, -width / 2));
  }
  const double distance = std::abs(x + 0.5) / width;
  if (filter == DataConfig::TRIANGLE) return std::max(0.0, 1 - distance);
  return distance < 3 ? Sinc(distance) * Sinc(distance / 3) : 0;
}

}  // namespace

void Taps::Compute(const Axis& axis, DataConfig::Filter filter, bool fixed_point) {
  const double width = std::max(axis.scale, 1.0);
  if (axis.scale < 1 && filter == DataConfig::AREA) filter = DataConfig::TRIANGLE;
  const double reach = Support(filter) * width;
  starts_.resize(axis.outputs);
  counts_.resize(axis.outputs);
  end_ = 0;
  int most = 1;
  for (int i = 0; i < axis.outputs; ++i) {
    const double center = axis.begin + (i + 0.5) * axis.scale;
    int begin, end;
    if (filter == DataConfig::AREA) {
      // Inputs that lie at least partly within reach.
      begin = static_cast<int>(std::floor(center - reach + kTiny));
      end = static_cast<int>(std::ceil(center + reach - kTiny));
    } else {
      // Inputs whose centers lie within reach.
      begin = static_cast<int>(std::floor(center - reach + 0.5));
      end = static_cast<int>(std::floor(center + reach + 0.5));
    }
    starts_[i] = std::clamp(begin, axis.low, axis.high - 1);
    end = std::clamp(end, starts_[i] + 1, axis.high);
    counts_[i] = end - starts_[i];
    most = std::max(most, counts_[i]);
    end_ = std::max(end_, end);
  }
  first_ = starts_.front();
  taps_ = (most + 3) / 4 * 4;
  const int64_t size = int64_t{axis.outputs} * taps_ * 4;
  fixed_point ? fixed_.assign(size, 0) : weights_.assign(size, 0);
  row_.resize(taps_);
  for (int i = 0; i < axis.outputs; ++i) {
    const double center = axis.begin + (i + 0.5) * axis.scale;
    double sum = 0;
    for (int k = 0; k < counts_[i]; ++k) {
      sum += row_[k] = Weight(filter, starts_[i] + k - center, width);
    }
    for (int k = 0; k < counts_[i]; ++k) {
      const double weight = sum > 0 ? row_[k] / sum : 1.0 / counts_[i];
      if (fixed_point) {
        std::fill_n(&fixed_[Place(i, k)], 4, static_cast<int32_t>(std::lround(weight * kUnits)));
      } else {
        std::fill_n(&weights_[Place(i, k)], 4, static_cast<float>(weight));
      }
    }
    starts_[i] -= first_;
  }
}

}  // namespace gf
