#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "comm/flow/gradient_transport.h"
#include "core/config/job.pb.h"
#include "core/device.h"
#include "core/telemetry/timeline.h"
#include "core/tensor.h"

namespace gf {

struct GradientFlowOptions {
  CommConfig config;
  // No choice depends on measured times.
  bool deterministic = false;
  // Length of training: SPARSE's warm-up is a part of it.
  int64_t total_steps = 1;
  // The solver's momentum, for SPARSE's correction.
  float momentum = 0;
  // Where the gradients lie, null: in host memory; and residuals, so that SPARSE needs it.
  Device* device = nullptr;
  // For comm.sharded_update: the FP32 master weights, and what is called once they are new in every
  // part (the ranges that a rank updates itself are not all of them).
  Tensor master;
  std::function<void()> weights_changed;
  // May be null.
  Timeline* timeline = nullptr;
  // Made before by NewGradientTransport for this config, device and communicator. Null: the flow
  // makes one.
  std::shared_ptr<GradientTransport> transport;
};

}  // namespace gf
