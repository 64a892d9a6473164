#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/flow/exchange_choice.h"
#include "comm/flow/gradient_transport.h"
#include "comm/flow/transfer_times.h"
#include "core/config/job.pb.h"
#include "core/device.h"
#include "core/telemetry/timeline.h"
#include "core/tensor.h"

namespace gf {

class GradientFlow;

struct GradientFlowOptions {
  CommConfig config;
  // No choice depends on measured times.
  bool deterministic = false;
  // Length of training: SPARSE's warm-up is a part of it.
  int64_t total_steps = 1;
  // The solver's momentum, for SPARSE's and TOPK's correction, and its form.
  float momentum = 0;
  bool nesterov = false;
  // solver.type, for AUTO: not every mode goes with every solver.
  std::string solver = "SGD";
  // Gradients are taken at weights that are ahead by what waits (GradientFlow::waiting).
  bool steps_ahead = false;
  // AUTO asks the job whether its checkpoints have room for the State() of a new flow. Returns the
  // reason against it, "" if there is none; the same on all ranks, which all call it. May be empty.
  std::function<std::string(const GradientFlow&)> objection;
  // Called on all ranks when AUTO has chosen; may be empty.
  std::function<void(const ExchangeChoice&)> chosen;
  // The device that holds gradients and residuals; null: host memory. Compressors need
  // a device.
  Device* device = nullptr;
  // For comm.sharded_update and PERIODIC: the FP32 master weights.
  Tensor master;
  // For the same: called when all master weights are new, also those that the solver did not
  // update.
  std::function<void()> weights_changed;
  // For PERIODIC: the solver's pools, by name (Solver::State).
  std::vector<std::pair<std::string, Tensor>> solver_state;
  // May be null.
  Timeline* timeline = nullptr;
  // NewGradientTransport's, for this config, device and communicator. Null: the flow creates one.
  std::shared_ptr<GradientTransport> transport;
  // Flows that share a transport share the times of its collectives. Null: the flow creates them.
  std::shared_ptr<TransferTimes> transfer_times;
  // What BeginStep counts, for messages to people. "": these are not steps of the job, and
  // BeginStep does not change the rank's activity (Watchdog).
  std::string counted = "step";
  // The setting that names the flow's mode, for messages to people.
  std::string mode_setting = "comm.mode";
};

}  // namespace gf
