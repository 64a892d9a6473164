#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/pool_layout.h"

namespace gf {

// The pools of a net's parameters, and its states (batch-norm statistics). Shared by the nets
// of one job (training, validation). All pools have the offsets of `layout`.
class ParameterStore {
 public:
  // Allocates zeroed pools; `gradients` = false leaves out the gradient pool (evaluation).
  ParameterStore(Device* device, PoolLayout layout, PoolLayout states, DType compute,
                 bool gradients);

  Device* device() const { return device_; }
  const PoolLayout& layout() const { return layout_; }
  const PoolLayout& state_layout() const { return state_layout_; }

  const Tensor& master() const { return master_; }      // FP32 [layout.count()]
  const Tensor& compute() const { return compute_; }    // compute type; FP32: the master pool
  const Tensor& gradient() const { return gradient_; }  // compute type
  const Tensor& states() const { return states_; }      // FP32 [state_layout.count()]

  // Who writes to the master or compute pool calls this afterwards, so that kernels renew what
  // they derived from the weights.
  void BumpVersion() { ++version_; }
  uint64_t version() const { return version_; }

  // Converts one entry between its pool layout and plain FP32 host memory (shape.count()
  // values). `pool` is one of the pools above or another of equal offsets.
  std::vector<float> Export(const Tensor& pool, const PoolEntry& entry) const;
  void Import(const float* values, const PoolEntry& entry, const Tensor& pool);
  void Import(const std::vector<float>& values, const PoolEntry& entry, const Tensor& pool);

  // Writes the compute pool from the master pool (after initialization or loading).
  void SyncCompute();

 private:
  Tensor View(const Tensor& pool, const PoolEntry& entry) const;

  Device* device_;
  PoolLayout layout_, state_layout_;
  Tensor master_, compute_, gradient_, states_;
  uint64_t version_ = 1;
};

}  // namespace gf
