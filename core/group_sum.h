#pragma once

#include <cstdint>

namespace gf {

// Adds up numbers over some of the ranks, this one among them.
class GroupSum {
 public:
  virtual ~GroupSum() = default;
  // Ranks of the group, at least 2.
  virtual int size() const = 0;
  // Replaces the values by their sums, the same bits on all ranks of the group. Called by all ranks
  // of the job in the same order with equal counts. Throws CommError.
  virtual void Sum(double* values, int64_t count) = 0;
};

}  // namespace gf
