#include "solvers/train/start.h"

#include <dnnl.h>
#include <glog/logging.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "comm/agree.h"
#include "comm/consistency.h"
#include "core/config/config.h"
#include "core/error.h"
#include "core/file_digest.h"
#include "core/folder.h"
#include "core/host_copy.h"
#include "solvers/checkpoint/checkpoint_folder.h"
#include "solvers/checkpoint/pool_exchange.h"
#include "solvers/checkpoint/residuals.h"
#include "solvers/checkpoint/weights_file.h"
#include "solvers/report/config_table.h"

namespace gf {
namespace {

using Items = std::vector<std::pair<std::string, std::string>>;

void BroadcastState(TrainingState* state, Communicator* comm) {
  struct Numbers {
    int64_t step, updates, clean_steps, position, residual_ranks;
    double last_lr, loss_scale;
  };
  Numbers numbers = {state->step,           state->updates, state->clean_steps, state->position,
                     state->residual_ranks, state->last_lr, state->loss_scale};
  std::string text(reinterpret_cast<const char*>(&numbers), sizeof(numbers));
  comm->Broadcast(&text, 0, "state of the start");
  std::memcpy(&numbers, text.data(), sizeof(numbers));
  state->step = numbers.step;
  state->updates = numbers.updates;
  state->clean_steps = numbers.clean_steps;
  state->position = numbers.position;
  state->residual_ranks = static_cast<int>(numbers.residual_ranks);
  state->last_lr = numbers.last_lr;
  state->loss_scale = numbers.loss_scale;
}

// Weights and statistics become rank 0's.
void BroadcastWeights(ParameterStore* store, Communicator* comm) {
  BroadcastPool(store->device(), store->master(), "weights of the start", comm);
  BroadcastPool(store->device(), store->states(), "weights of the start", comm);
  store->SyncCompute();
  store->BumpVersion();
}

// A difference is known to all ranks: one of them prints it.
void CheckSame(Communicator* comm, const Items& items) {
  try {
    CheckSameOnAllRanks(comm, items);
  } catch (const UserError& e) {
    throw AgreedError(e.what());
  }
}

// Says what has changed since the checkpoint, apart from what does not matter.
void NoteChanges(const TrainingState& state, const JobConfig& config, int world, int threads,
                 const std::function<void(const std::string&)>& note) {
  if (state.world != world) {
    note(StrCat("resuming on ", world, " ranks what ran on ", state.world,
                ": the data go on where they stopped, but the batches differ"));
  }
  if (state.threads != threads) {
    note(StrCat("resuming with ", threads, " compute threads what ran with ", state.threads,
                ": the last bits may differ"));
  }
  JobConfig old_config;
  try {
    ParseTextProto(state.config, "the checkpoint's config", &old_config);
  } catch (const UserError&) {
    return;
  }
  const Items was = ConfigTable(old_config), is = ConfigTable(config);
  for (const auto& row : is) {
    if (row.first.compare(0, 7, "solver.") != 0 && row.first.compare(0, 11, "train_data.") != 0 &&
        row.first.compare(0, 12, "comm.sparse.") != 0 && row.first != "comm.mode" &&
        row.first != "comm.wire_type" && row.first != "seed" && row.first != "compute_type") {
      continue;
    }
    const auto it = std::find_if(was.begin(), was.end(),
                                 [&](const auto& old) { return old.first == row.first; });
    const std::string old = it == was.end() ? "not set" : it->second;
    if (old != row.second) {
      note(StrCat("changed since the checkpoint: ", row.first, " was ", old, ", is ", row.second));
    }
  }
}

// A run must not mix its checkpoints with later ones of another.
void CheckFolderIsFree(const std::string& folder, int64_t step) {
  if (folder.empty()) return;
  const std::vector<FoundCheckpoint> found = ListCheckpoints(folder);
  if (found.empty() || found.back().step <= step) return;
  const std::string valid = LatestValidCheckpoint(folder, [](const std::string&) {});
  for (const FoundCheckpoint& later : found) {
    if (later.step > step && later.path == valid) {
      ThrowUserError("checkpoint.dir: ", folder, " already holds later checkpoints (", valid,
                     "): continue them with --resume, set another checkpoint.dir, or remove the "
                     "folder");
    }
  }
}

}  // namespace

void CheckSameConfig(const JobConfig& config, Communicator* comm) {
  Items items = ConfigTable(config);
  const dnnl_version_t* version = dnnl_version();
  items.emplace_back("the version of oneDNN", StrCat(version->major, ".", version->minor, ".",
                                                     version->patch, " ", version->hash));
  items.emplace_back("the program", HashName(DigestFile("/proc/self/exe").hash));
  CheckSame(comm, items);
}

void CheckSameNet(const Job& job, Communicator* comm) {
  const std::string net = job.source.param.DebugString();
  Items items = {{"the net", HashName(XXH3_64bits(net.data(), net.size()))}};
  for (const PoolLayout* layout : {&job.store->layout(), &job.store->state_layout()}) {
    int index = 0;
    for (const PoolEntry& entry : layout->entries()) {
      items.emplace_back(
          "parameter " + entry.name,
          StrCat("number ", index++, ", ", entry.shape.ToString(), " ", entry.layout.Name(),
                 ", lr_mult ", entry.lr_mult, ", decay_mult ", entry.decay_mult));
    }
  }
  const HostCopy copy(job.device.get(), job.store->master());
  const Tensor& master = copy.tensor();
  items.emplace_back("the checksum of the weights",
                     HashName(XXH3_64bits(master.data, master.desc.bytes())));
  items.emplace_back("the number of images", StrCat(job.train.loader->size()));
  CheckSame(comm, items);
}

TrainingState LoadStart(const JobConfig& config, const StartOptions& options, const Job& job,
                        GradientFlow* flow, Communicator* comm,
                        const std::function<void(const std::string&)>& note) {
  TrainingState state;
  enum { kNothing, kWeights, kCheckpoint };
  int64_t loaded = kNothing;
  std::string path = options.resume;
  RunOnRankZero(comm, "reading the checkpoint", [&] {
    if (path == "latest") {
      if (config.checkpoint().dir().empty()) {
        ThrowUserError(
            "--resume: checkpoint.dir is not set: set it, or name a checkpoint with "
            "--resume=FOLDER");
      }
      path = LatestValidCheckpoint(config.checkpoint().dir(), note);
      if (path.empty()) {
        note(StrCat("no valid checkpoint in ", config.checkpoint().dir(),
                    ": starting from scratch"));
      }
    } else if (!path.empty() && !IsFolder(path)) {
      ThrowUserError("--resume: ", path,
                     " is not a folder: name a checkpoint, "
                     "e.g. DIR/step-00001000");
    }
    if (!path.empty()) {
      state = LoadCheckpoint(path, config.solver().type(), job.store, job.solver.get());
      NoteChanges(state, config, comm->size(), options.threads, note);
      note(StrCat("resuming from ", path, ", step ", state.step));
      loaded = kCheckpoint;
    } else if (!options.weights.empty()) {
      LoadWeightsFile(options.weights, {/*complete=*/false, options.bgr}, job.store, note);
      note(StrCat("starting from the weights of ", options.weights));
      loaded = kWeights;
    }
    if (options.resume != "latest") CheckFolderIsFree(config.checkpoint().dir(), state.step);
  });
  comm->AllReduce(&loaded, 1, ReduceOp::kMax, "state of the start");
  if (loaded == kNothing) return state;
  BroadcastState(&state, comm);
  BroadcastWeights(job.store, comm);
  for (const auto& pool : job.solver->State()) {
    BroadcastPool(job.device.get(), pool.second, "optimizer of the start", comm);
  }
  if (loaded == kCheckpoint) {
    LoadResiduals(path, state.residual_ranks, config.comm().sparse(), job.store, flow, comm, note);
  }
  return state;
}

std::string LoadEvaluationWeights(const JobConfig& config, const std::string& path, bool bgr,
                                  ParameterStore* store, Communicator* comm) {
  const auto note = [](const std::string& text) { LOG(WARNING) << text; };
  std::string source = path;
  RunOnRankZero(comm, "reading the weights", [&] {
    if (source.empty()) {
      const std::string& folder = config.checkpoint().dir();
      if (folder.empty()) {
        ThrowUserError(
            "--checkpoint is missing and checkpoint.dir is not set: name a checkpoint's "
            "folder, or a weights file with --weights");
      }
      source = LatestValidCheckpoint(folder, note);
      if (source.empty()) {
        ThrowUserError("checkpoint.dir: no valid checkpoint in ", folder,
                       ": train first, or name one with --checkpoint");
      }
    }
    if (IsFolder(source)) {
      LoadCheckpoint(source, "", store, nullptr);
    } else {
      LoadWeightsFile(source, {/*complete=*/true, bgr}, store, note);
    }
  });
  comm->Broadcast(&source, 0, "name of the weights");
  BroadcastWeights(store, comm);
  return source;
}

}  // namespace gf
