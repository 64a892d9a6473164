#pragma once

#include <gflags/gflags_declare.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/device.h"
#include "models/net.h"
#include "models/parameter_store.h"
#include "tools/flags.h"

DECLARE_string(replay);
DECLARE_double(replay_images_per_s);
DECLARE_bool(replay_update);

namespace gf {

// What writes the gradients of a rank's steps: a net, or the replay of its times.
class Workload {
 public:
  virtual ~Workload() = default;

  virtual std::string name() const = 0;
  virtual const std::shared_ptr<ParameterStore>& parameters() const = 0;

  // One pass each, as Net's; `step` counts from 0.
  virtual void Forward(int64_t step) = 0;
  virtual void Backward(const std::function<void(const std::vector<int>&)>& done) = 0;

  // The net that computes; null for a replay.
  virtual Net* net() { return nullptr; }
};

// The workload that the flags of WorkloadFlags and NetFlags name, for this rank. Throws UserError.
// The device outlives it.
std::unique_ptr<Workload> NewWorkload(Device* device, int rank);

// --replay and what goes with it, for FlagSpec.
FlagGroup WorkloadFlags();

// Throws UserError for values out of range, and for --replay with `computing`, the name of a flag
// that needs a net that computes; "": none was given.
void CheckWorkloadFlags(const std::string& computing);

}  // namespace gf
