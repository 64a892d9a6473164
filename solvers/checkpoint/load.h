#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "comm/flow/gradient_flow.h"
#include "core/config/job.pb.h"
#include "models/parameter_store.h"
#include "solvers/checkpoint/checkpoint.h"
#include "solvers/solver.h"

namespace gf {

// Where the first weights come from: a checkpoint if `resume` finds one, else `weights`.
struct StartOptions {
  // "latest" = the newest valid checkpoint of checkpoint.dir; or the folder of a checkpoint, or of
  // several, the newest valid of which is taken.
  std::string resume;
  // A safetensors file or a Caffe model.
  std::string weights;
  bool bgr = false;  // the Caffe model was trained on BGR images
  // Tensors that keep their initial values although the file has them, by pattern.
  std::vector<std::string> skip;
};

// Fills the pools of all ranks, and `flow` (which is new), from what rank 0 reads, and returns
// where training stands: after a checkpoint with everything that state.json says, otherwise as a
// new TrainingState. `threads`: of a rank. `note` gets remarks for people (on rank 0). Throws
// UserError on all ranks.
TrainingState LoadStart(const JobConfig& config, const StartOptions& options, int threads,
                        ParameterStore* store, const Solver& solver, GradientFlow* flow,
                        Communicator* comm, const std::function<void(const std::string&)>& note);

// The checkpoint's folder or the weights file that an evaluation reads, on all ranks: `path`
// itself, or the newest valid checkpoint in `path`, a folder of several; "" = in checkpoint.dir.
// Throws UserError on all ranks.
std::string FindEvaluationWeights(const JobConfig& config, const std::string& path,
                                  Communicator* comm);

// Fills the parameters and states of an evaluation net from what FindEvaluationWeights returned
// (`bgr`: a Caffe model that was trained on BGR images). Throws UserError on all ranks.
void LoadEvaluationWeights(const std::string& source, bool bgr, ParameterStore* store,
                           Communicator* comm);

}  // namespace gf
