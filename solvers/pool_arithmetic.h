#pragma once

#include <memory>
#include <vector>

#include "core/device.h"
#include "core/pool_layout.h"
#include "core/registry.h"
#include "models/parameter_store.h"

namespace gf {

// Arithmetic on pools outside the solvers, on one device. `gradients` is a gradient pool; `sums` is
// an FP32 pool with the same offsets.
class PoolArithmetic {
 public:
  virtual ~PoolArithmetic() = default;

  // sums += gradients
  virtual void Add(const Tensor& gradients, const ElementRange& range, const Tensor& sums) = 0;
  // gradients += sums; sums = 0
  virtual void Merge(const Tensor& gradients, const ElementRange& range, const Tensor& sums) = 0;
  // Whether all elements are finite.
  virtual bool Finite(const Tensor& gradients, const ElementRange& range) = 0;
  // Moves `mean` by `share` (0 to 1) of the way to `pool`: two FP32 pools of one size.
  virtual void Average(const Tensor& pool, double share, const Tensor& mean) = 0;
};

// Registered by name of the device.
using PoolArithmeticRegistry = Registry<PoolArithmetic, Device*>;

inline std::unique_ptr<PoolArithmetic> NewPoolArithmetic(Device* device) {
  return PoolArithmeticRegistry::Get().Create("arithmetic", device->name(), device);
}

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
