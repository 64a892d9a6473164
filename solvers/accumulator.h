#pragma once

#include <memory>
#include <vector>

#include "models/parameter_store.h"
#include "solvers/pool_arithmetic.h"

namespace gf {

// Sums the gradients of several batches in FP32 (solver.iter_size).
class Accumulator {
 public:
  explicit Accumulator(ParameterStore* store);

  // Adds the gradients of these pool entries to the sums.
  void Add(const std::vector<int>& entries);
  // For the last batch: writes sum + gradient into the gradient pool and clears the sums.
  void Merge(const std::vector<int>& entries);

 private:
  ElementRange RangeOf(int entry) const;

  ParameterStore* store_;
  std::unique_ptr<PoolArithmetic> arithmetic_;
  Tensor sum_;  // FP32, offsets of the pools
};

}  // namespace gf
