#pragma once

#include <algorithm>
#include <vector>

namespace gf {

// The middle of the values, of an even number the upper one of the two; not of none.
inline double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

}  // namespace gf
