#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/device.h"
#include "core/dtype.h"
#include "simulate/net_model.h"
#include "tools/gfbench/workload.h"

namespace gf {

// Steps in which each layer takes the time that it is given, by waiting.
//
// Note [Replay]
// A pass sleeps until its layer is due, so that ranks which share a core do not take it from each
// other. A layer is due its time after the one before was due, plus the time that the caller spent
// in `done`: sleeping too long delays no later layer, and the exchange's arithmetic takes as much
// of the step as it does between the layers of a net. Before a layer sleeps, it writes its
// gradients, normal numbers that are drawn once per rank. An entry's gradients in a step are a
// window of a table of these numbers, from a place that depends on rank, entry and step. The table
// stays in the processor's cache: a copy of the whole pool would read as much memory as it writes.
class Replay : public Workload {
 public:
  // `times`: seconds. The gradients have the compute type. The device, which shares the host's
  // memory, outlives the object.
  Replay(NetModel net, ComputeTimes times, DType compute, Device* device, int rank);

  std::string name() const override { return net_.name; }
  const std::shared_ptr<ParameterStore>& parameters() const override { return store_; }
  void Forward(int64_t step) override;
  void Backward(const std::function<void(const std::vector<int>&)>& done) override;

 private:
  // Draws the entry's gradients of this step.
  void Write(int entry);

  const NetModel net_;
  const ComputeTimes times_;
  const int rank_;
  const std::shared_ptr<ParameterStore> store_;
  Tensor table_;  // of the compute type
  int64_t step_ = 0;
};

}  // namespace gf
