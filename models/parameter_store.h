#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/pool_layout.h"

namespace gf {

// The pools of a net's parameters, and its states (batch-norm statistics). The nets of a job
// (training, validation) share one store; with solver.average the net of validation has its
// average. Pools use the offsets of `layout` unless said otherwise.
class ParameterStore {
 public:
  // Allocates zeroed pools; `gradients` = false omits the gradient pool (evaluation). `frozen`:
  // parameters that training does not change. `plan_only`: pools are described and have no memory;
  // their data are null.
  ParameterStore(Device* device, PoolLayout layout, PoolLayout states, DType compute,
                 bool gradients, PoolLayout frozen = {}, bool plan_only = false);

  Device* device() const { return device_; }
  bool plan_only() const { return plan_only_; }
  const PoolLayout& layout() const { return layout_; }
  const PoolLayout& state_layout() const { return state_layout_; }
  const PoolLayout& frozen_layout() const { return frozen_layout_; }

  const Tensor& master() const { return master_; }  // FP32 [layout.count()]
  // The weights that nets compute with, in the compute type. In FP32 this is the master pool,
  // unless SetOwnCompute has added a second pool.
  const Tensor& compute() const { return compute_; }
  const Tensor& gradient() const { return gradient_; }  // compute type
  bool has_gradients() const { return has_gradients_; }
  const Tensor& states() const { return states_; }  // FP32 [state_layout.count()]
  // Of the frozen parameters, with the offsets of frozen_layout: FP32, and in the compute type.
  const Tensor& frozen_master() const { return frozen_master_; }
  const Tensor& frozen_compute() const { return frozen_compute_; }

  // The pools of the frozen or of the trained parameters.
  struct Pools {
    const PoolLayout& layout;
    const Tensor& master;
    const Tensor& compute;
  };
  Pools PoolsOf(bool frozen) const {
    if (frozen) return {frozen_layout_, frozen_master_, frozen_compute_};
    return {layout_, master_, compute_};
  }

  bool has_own_compute() const { return has_own_compute_; }
  // FP32: adds a compute pool with the values of the master pool, or removes it. Other types always
  // have one. Nets use the new pool from their next forward pass on; must not be called between a
  // forward pass and its backward pass.
  void SetOwnCompute(bool own);

  // Another name under which a layer knows a shared parameter, "<layer>.weight".
  void AddAlias(const std::string& alias, const std::string& name) { aliases_[alias] = name; }
  // The name in the pools of what may be an alias.
  const std::string& Resolve(const std::string& name) const {
    const auto it = aliases_.find(name);
    return it == aliases_.end() ? name : it->second;
  }

  // How many batches the fixed statistics of a batch norm are from, as files of weights count them;
  // 0 where no file has said it.
  int64_t tracked_batches(const std::string& layer) const {
    const auto it = tracked_batches_.find(layer);
    return it == tracked_batches_.end() ? 0 : it->second;
  }
  void SetTrackedBatches(const std::string& layer, int64_t batches) {
    tracked_batches_[layer] = batches;
  }

  // The moving average of the master weights and states (solver.average): a store with the same
  // pools and names and without gradients, for nets that evaluate. Null without one. AddAverage
  // creates it, with pools of zeros but for the frozen ones, which it shares.
  const std::shared_ptr<ParameterStore>& average() const { return average_; }
  void AddAverage();

  // Must be called after any write to the master or compute pool, so that kernels update data
  // derived from the weights.
  void BumpVersion() { ++version_; }
  uint64_t version() const { return version_; }

  // Convert one entry between its pool layout and plain FP32 host memory (shape.count() values).
  // `pool` is one of the pools above or another pool with the same offsets.
  std::vector<float> Export(const Tensor& pool, const PoolEntry& entry) const;
  void Import(const float* values, const PoolEntry& entry, const Tensor& pool);
  void Import(const std::vector<float>& values, const PoolEntry& entry, const Tensor& pool);

  // Writes the compute pools from the master pools (after initialization or loading).
  void SyncCompute();

 private:
  Tensor NewPool(int64_t count, DType dtype) const;
  Tensor View(const Tensor& pool, const PoolEntry& entry) const;

  Device* device_;
  bool plan_only_, has_gradients_, has_own_compute_;
  PoolLayout layout_, state_layout_, frozen_layout_;
  Tensor master_, compute_, gradient_, states_, frozen_master_, frozen_compute_;
  std::map<std::string, std::string> aliases_;
  std::map<std::string, int64_t> tracked_batches_;
  std::shared_ptr<ParameterStore> average_;
  uint64_t version_ = 1;
};

}  // namespace gf
