#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace gf {

// The middle value; for an even number of values, the lower of the two in the middle. `values` must
// not be empty.
inline double Median(std::vector<double> values) {
  const size_t middle = (values.size() - 1) / 2;
  std::nth_element(values.begin(), values.begin() + middle, values.end());
  return values[middle];
}

}  // namespace gf
