#pragma once

#include <memory>

#include "core/device.h"
#include "core/pool_layout.h"
#include "core/registry.h"

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
};

// Registered by name of the device.
using PoolArithmeticRegistry = Registry<PoolArithmetic, Device*>;

inline std::unique_ptr<PoolArithmetic> NewPoolArithmetic(Device* device) {
  return PoolArithmeticRegistry::Get().Create("arithmetic", device->name(), device);
}

}  // namespace gf
