#include "solvers/checkpoint/load.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "comm/agree.h"
#include "comm/pool_transfer.h"
#include "core/error.h"
#include "core/folder.h"
#include "solvers/checkpoint/checkpoint_folder.h"
#include "solvers/checkpoint/kept_choice.h"
#include "solvers/checkpoint/residuals.h"
#include "solvers/checkpoint/weights_file.h"

namespace gf {
namespace {

using Note = std::function<void(const std::string&)>;

void WarnOf(const std::string& text) { PrintWarning(text); }

// The newest valid checkpoint of a folder that holds some, "" of one that holds none.
std::string NewestIn(const std::string& folder, const std::string& flag) {
  return NewestCheckpoint(folder, flag,
                          "to start from scratch, set another checkpoint.dir or remove the folder",
                          WarnOf);
}

// Whether --resume=FOLDER means what --resume means.
bool IsCheckpointDir(const std::string& resume, const std::string& folder) {
  std::error_code ignored;
  return resume == "latest" ||
         (HoldsCheckpoints(resume) && std::filesystem::equivalent(resume, folder, ignored));
}

// The checkpoint that --resume means, "" if it means none.
std::string FindCheckpoint(const std::string& resume, const std::string& folder, const Note& note) {
  if (resume.empty()) return "";
  if (resume != "latest") {
    if (HoldsCheckpoints(resume)) return NewestIn(resume, "--resume");
    if (IsFolder(resume)) return resume;
    ThrowUserError("--resume: ", resume,
                   " is not a folder: name a checkpoint, e.g. DIR/step-00001000, or the folder of "
                   "several");
  }
  if (folder.empty()) {
    ThrowUserError(
        "--resume: checkpoint.dir is not set: set it, or name a checkpoint with --resume=FOLDER");
  }
  const std::string path = NewestIn(folder, "--resume");
  if (path.empty()) note(StrCat("no checkpoint in ", folder, ": starting from scratch"));
  return path;
}

// A run must not mix its checkpoints with later ones of another. `resume`: the checkpoint that was
// named, "" for a new start.
void CheckFolderIsFree(const std::string& folder, const std::string& resume, int64_t step) {
  if (folder.empty()) return;
  const std::vector<FoundCheckpoint> found = ListCheckpoints(folder);
  if (found.empty() || found.back().step <= step) return;
  const std::string& later = found.back().path;
  if (resume.empty()) {
    ThrowUserError("checkpoint.dir: ", folder, " already holds later checkpoints (", later,
                   "): continue them with --resume, set another checkpoint.dir, or remove the "
                   "folder");
  }
  ThrowUserError("--resume=", resume, ": checkpoint.dir ", folder, " holds later checkpoints (",
                 later, "): set another checkpoint.dir, or remove the later ones");
}

// Weights and statistics of all ranks become rank 0's.
void BroadcastWeights(ParameterStore* store, Communicator* comm) {
  BroadcastPool(store->device(), store->master(), "weights of the start", comm);
  BroadcastPool(store->device(), store->frozen_master(), "weights of the start", comm);
  BroadcastPool(store->device(), store->states(), "weights of the start", comm);
  if (store->average()) {
    BroadcastPool(store->device(), store->average()->master(), "average of the start", comm);
    BroadcastPool(store->device(), store->average()->states(), "average of the start", comm);
  }
  store->SyncCompute();
  store->BumpVersion();
}

}  // namespace

TrainingState LoadStart(const JobConfig& config, const StartOptions& options, int threads,
                        ParameterStore* store, const Solver& solver, GradientFlow* flow,
                        Communicator* comm, const Note& note) {
  const std::string& folder = config.checkpoint().dir();
  // On rank 0: the checkpoint that was read ("": none), and the state that goes with what was read
  // ("": nothing was).
  std::string checkpoint, text;
  RunOnRankZero(comm, "reading the checkpoint", [&] {
    TrainingState state;
    checkpoint = FindCheckpoint(options.resume, folder, note);
    if (!checkpoint.empty()) {
      state = LoadCheckpoint(checkpoint, config.solver().type(), store, &solver);
      note(StrCat("resuming from ", checkpoint, ", step ", state.step));
      if (!store->average() && CheckpointHasAverage(checkpoint)) {
        note(
            "the checkpoint's average is dropped, because solver.average has no decay: training "
            "continues with the trained weights");
      }
      text = ToText(state);
    } else if (!options.weights.empty()) {
      LoadWeightsFile(options.weights, {/*complete=*/false, options.bgr, options.skip}, store,
                      note);
      note(StrCat("starting from the weights of ", options.weights));
      text = ToText(state);
    }
    if (!IsCheckpointDir(options.resume, folder))
      CheckFolderIsFree(folder, options.resume, state.step);
  });
  comm->Broadcast(&text, 0, "state of the start");
  if (text.empty()) return {};
  comm->Broadcast(&checkpoint, 0, "name of the checkpoint");
  TrainingState state = ParseTrainingState(text, "state of the start");
  BroadcastWeights(store, comm);
  for (const auto& pool : solver.State()) {
    BroadcastPool(store->device(), pool.second, "optimizer of the start", comm);
  }
  if (!checkpoint.empty()) {
    const auto say = [&](const std::string& text) {
      if (comm->rank() == 0) note(text);
    };
    state.exchange = KeepChoice(state, config, threads, flow, comm, say);
    LoadResiduals(checkpoint, state.residual_ranks, config.comm().sparse(),
                  {config.solver().momentum(), config.solver().nesterov()}, store, flow, comm,
                  note);
  }
  return state;
}

std::string FindEvaluationWeights(const JobConfig& config, const std::string& path,
                                  Communicator* comm) {
  std::string source = path;
  RunOnRankZero(comm, "looking for the weights", [&] {
    if (source.empty()) {
      const std::string& folder = config.checkpoint().dir();
      if (folder.empty()) {
        ThrowUserError(
            "--checkpoint is missing and checkpoint.dir is not set: name a checkpoint's "
            "folder, or a weights file with --weights");
      }
      source = NewestIn(folder, "checkpoint.dir");
      if (source.empty()) {
        ThrowUserError("checkpoint.dir: no valid checkpoint in ", folder,
                       ": train first, or name one with --checkpoint");
      }
    }
    if (HoldsCheckpoints(source)) source = NewestIn(source, "--checkpoint");
  });
  comm->Broadcast(&source, 0, "name of the weights");
  return source;
}

void LoadEvaluationWeights(const std::string& source, bool bgr, ParameterStore* store,
                           Communicator* comm) {
  RunOnRankZero(comm, "reading the weights", [&] {
    if (IsFolder(source)) {
      LoadCheckpoint(source, "", store, nullptr);
    } else {
      LoadWeightsFile(source, {/*complete=*/true, bgr}, store, WarnOf);
    }
  });
  BroadcastWeights(store, comm);
}

}  // namespace gf
