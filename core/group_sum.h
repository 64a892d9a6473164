#pragma once

#include <cstdint>

namespace gf {

// Sums numbers over a group of ranks that includes this one.
class GroupSum {
 public:
  virtual ~GroupSum() = default;
  // Number of ranks in the group, at least 2.
  virtual int size() const = 0;
  // Replaces the values by their sums, bit for bit equal on all ranks of the group. All ranks of
  // the job must call it in the same order with equal counts. Throws CommError.
  virtual void Sum(double* values, int64_t count) = 0;
};

}  // namespace gf
