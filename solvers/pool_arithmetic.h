#pragma once

#include <memory>

#include "core/device.h"
#include "core/pool_layout.h"
#include "core/registry.h"

namespace gf {

// Sums over pools outside the solvers, on one device. `gradients` is a gradient pool, `sums` an
// FP32 pool of equal offsets.
class PoolArithmetic {
 public:
  virtual ~PoolArithmetic() = default;

  // sums += gradients
  virtual void Add(const Tensor& gradients, const ElementRange& range, const Tensor& sums) = 0;
  // gradients += sums; sums = 0
  virtual void Merge(const Tensor& gradients, const ElementRange& range, const Tensor& sums) = 0;
  // Whether there is no infinity and no NaN.
  virtual bool Finite(const Tensor& gradients, const ElementRange& range) = 0;
};

// By the device's name.
using PoolArithmeticRegistry = Registry<PoolArithmetic, Device*>;

inline std::unique_ptr<PoolArithmetic> NewPoolArithmetic(Device* device) {
  return PoolArithmeticRegistry::Get().Create("arithmetic", device->name(), device);
}

}  // namespace gf
