#pragma once

#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/estimate/gpu.h"
#include "core/estimate/operation.h"
#include "models/net.h"

namespace gf {

// A step of a single GPU, without communication.
struct StepEstimate {
  std::string net;
  Gpu gpu;
  int64_t batch = 0;
  int64_t parameters = 0;
  // GPU memory for pools, activations and the solver's state.
  size_t memory_bytes = 0;
  // In the order of the stream.
  std::vector<Operation> operations;
  std::vector<std::string> unfused;  // Net::Unfused
};

// Estimates a training step (in phase TEST, a forward pass) on the GPU; see Note [A step on paper].
// Gradients are updated in one bucket and not inspected; pixels arrive as UINT8. Throws UserError
// for mistakes in the net or the solver (`solver_setting` names the setting of the solver type), or
// if the GPU does not support the compute type.
StepEstimate EstimateStep(const NetSource& source, const NetOptions& options,
                          const SolverConfig& solver, const Gpu& gpu,
                          const std::string& solver_setting = "solver.type");

}  // namespace gf
