#include "solvers/checkpoint/save.h"

#include "comm/agree.h"
#include "core/error.h"
#include "solvers/checkpoint/residuals.h"

namespace gf {

std::unique_ptr<CheckpointFolder> OpenCheckpointFolder(const CheckpointConfig& config,
                                                       const ParameterStore& store,
                                                       const Solver& solver,
                                                       const GradientFlow& flow,
                                                       Communicator* comm) {
  if (config.dir().empty()) return nullptr;
  auto folder = std::make_unique<CheckpointFolder>(config.dir(), config.keep());
  RunOnRankZero(comm, "preparing the checkpoints' folder", [&] {
    folder->Prepare(CheckpointBytes(store, solver) + ResidualBytes(flow, store, comm->size()));
  });
  return folder;
}

void CheckRoomFor(const GradientFlow& flow, const ParameterStore& store, const Solver& solver,
                  const CheckpointFolder* folder, Communicator* comm) {
  if (folder == nullptr) return;
  RunOnRankZero(comm, "room for checkpoints", [&] {
    folder->CheckRoom(CheckpointBytes(store, solver) + ResidualBytes(flow, store, comm->size()));
  });
}

std::string SaveCheckpoint(CheckpointFolder* folder, const TrainingState& state,
                           const ParameterStore& store, const Solver& solver,
                           const GradientFlow& flow, const SparseConfig& config,
                           Communicator* comm) {
  TrainingState full = state;
  full.residual_ranks = HasResidual(flow) ? comm->size() : 0;
  ExtraFiles extra;
  if (full.residual_ranks > 0) {
    extra = StageResiduals(folder, state.step, store, flow, config, comm);
  }
  std::string path;
  RunOnRankZero(comm, StrCat("checkpoint of step ", state.step),
                [&] { path = folder->Write(full, store, solver, extra); });
  return path;
}

}  // namespace gf
