#pragma once

#include <memory>
#include <string>

#include "comm/communicator.h"
#include "comm/flow/gradient_flow.h"
#include "core/config/job.pb.h"
#include "models/parameter_store.h"
#include "solvers/checkpoint/checkpoint_folder.h"
#include "solvers/solver.h"

namespace gf {

// The job's folder of checkpoints, prepared on rank 0 for checkpoints with these pools; null if
// checkpoint.dir is not set. `flow` is new. Throws UserError on all ranks like
// CheckpointFolder::Prepare.
std::unique_ptr<CheckpointFolder> OpenCheckpointFolder(const CheckpointConfig& config,
                                                       const ParameterStore& store,
                                                       const Solver& solver,
                                                       const GradientFlow& flow,
                                                       Communicator* comm);

// Whether checkpoints of a flow that has changed since then still have room; called by all ranks.
// `folder` may be null. Throws UserError on all ranks like CheckpointFolder::CheckRoom.
void CheckRoomFor(const GradientFlow& flow, const ParameterStore& store, const Solver& solver,
                  const CheckpointFolder* folder, Communicator* comm);

// Writes a checkpoint from all ranks' state; called by all of them between two steps. Returns its
// folder on rank 0, "" elsewhere. Throws UserError on all ranks like CheckpointFolder::Write.
// `folder` is used on rank 0 only.
std::string SaveCheckpoint(CheckpointFolder* folder, const TrainingState& state,
                           const ParameterStore& store, const Solver& solver,
                           const GradientFlow& flow, const SparseConfig& config,
                           Communicator* comm);

}  // namespace gf
