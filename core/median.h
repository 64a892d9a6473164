#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace gf {

// The middle of the values, of an even number the lower one of the two; not of none.
inline double Median(std::vector<double> values) {
  const size_t middle = (values.size() - 1) / 2;
  std::nth_element(values.begin(), values.begin() + middle, values.end());
  return values[middle];
}

}  // namespace gf
