#pragma once

#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/estimate/gpu.h"
#include "core/estimate/operation.h"
#include "models/net.h"

namespace gf {

// A step of one GPU that exchanges nothing.
struct StepEstimate {
  std::string net;
  Gpu gpu;
  int64_t batch = 0;
  int64_t parameters = 0;
  // The GPU's memory that pools, activations and the solver's state take.
  size_t memory_bytes = 0;
  // In the order in which they go on the stream.
  std::vector<Operation> operations;
};

// What a training step (in phase TEST a forward pass) asks of the GPU: Note [A step on paper].
// Gradients are updated in one bucket and not inspected; pixels come as UINT8. Throws UserError for
// whatever is wrong with the net or the solver (`solver_setting` is where its type comes from), or
// if the GPU lacks the compute type.
StepEstimate EstimateStep(const NetSource& source, const NetOptions& options,
                          const SolverConfig& solver, const Gpu& gpu,
                          const std::string& solver_setting = "solver.type");

}  // namespace gf
