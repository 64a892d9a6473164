#pragma once

#include <functional>
#include <string>

#include "comm/communicator.h"
#include "comm/flow/gradient_flow.h"
#include "core/config/job.pb.h"
#include "models/parameter_store.h"
#include "solvers/checkpoint/checkpoint.h"
#include "solvers/solver.h"

namespace gf {

// Where the first weights come from; at most one of `resume` and `weights` is set.
struct StartOptions {
  // "latest" = the newest valid checkpoint of checkpoint.dir; or the folder of a checkpoint, or of
  // several, the newest valid of which is taken.
  std::string resume;
  // A safetensors file or a Caffe model.
  std::string weights;
  bool bgr = false;  // the Caffe model was trained on BGR images
};

// Fills the pools of all ranks, and `flow` (which is new), from what rank 0 reads, and returns
// where training stands: after a checkpoint with everything that state.json says, otherwise as a
// new TrainingState. `note` gets remarks for people (on rank 0). Throws UserError on all ranks.
TrainingState LoadStart(const JobConfig& config, const StartOptions& options, ParameterStore* store,
                        const Solver& solver, GradientFlow* flow, Communicator* comm,
                        const std::function<void(const std::string&)>& note);

// Fills the parameters and states of an evaluation net on all ranks from `path`, a checkpoint's
// folder, a folder of several (the newest valid one is taken) or a weights file (of a Caffe model
// trained on BGR images: `bgr`); "" = the newest valid checkpoint of checkpoint.dir. Returns what
// was read. Throws UserError on all ranks.
std::string LoadEvaluationWeights(const JobConfig& config, const std::string& path, bool bgr,
                                  ParameterStore* store, Communicator* comm);

}  // namespace gf
