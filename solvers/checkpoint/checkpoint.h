#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/file_digest.h"
#include "models/parameter_store.h"
#include "solvers/solver.h"

namespace gf {

// Where training stands, apart from the pools. Random numbers are functions of (seed, step,
// position), so nothing more is needed to continue.
struct TrainingState {
  int64_t step = 0;     // steps done
  int64_t updates = 0;  // those that were not skipped
  double last_lr = 0;   // of the last update, 0 if there was none
  double loss_scale = 1;
  int64_t clean_steps = 0;  // since the loss scale changed
  int64_t position = 0;     // global number of the next sample (Loader::Seek)
  double epoch = 0;         // passes over the data done
  uint64_t seed = 0;
  int world = 1;
  int threads = 1;     // compute threads of rank 0; sums may be rounded differently with others
  std::string solver;  // its registered name
  std::string net;     // the net's name
  std::string config;  // the resolved config as text
  std::vector<std::string> class_names;  // of the training data, by label; may be empty
  // Ranks whose residuals are in the checkpoint (solvers/checkpoint/residuals.h); 0 = there are
  // none.
  int residual_ranks = 0;
};

// The state as a JSON object, and back from it. `where` names the text in errors. Throws UserError
// if a member is missing, of the wrong type or negative.
std::string ToText(const TrainingState& state);
TrainingState ParseTrainingState(const std::string& text, const std::string& where);

// A checkpoint is a folder:
//   weights.safetensors    master weights and batch-norm statistics, plain order, FP32
//   optimizer.safetensors  the solver's pools
//   state.json             TrainingState, size and XXH3 of the other files, its own XXH3
// and with state.residual_ranks > 0 (their contents: solvers/checkpoint/residuals.h)
//   chunks.safetensors
//   residual-00000.safetensors ...

// A file of a checkpoint besides weights, optimizer and state.
using ExtraFiles = std::vector<std::pair<std::string, FileDigest>>;

// Writes weights, optimizer and state into an existing folder and syncs them. `extra`: the files
// that are there already, those that state.residual_ranks calls for. Throws UserError, also for
// weights that are not finite.
void WriteCheckpointFiles(const std::string& folder, const TrainingState& state,
                          const ParameterStore& store, const Solver& solver,
                          const ExtraFiles& extra = {});

// Reads state.json and compares every file with it. Throws UserError that says what is
// damaged.
TrainingState VerifyCheckpoint(const std::string& folder);

// Verifies a checkpoint and fills the pools. `solver` may be null: weights only. Throws
// UserError for damage, another net or another solver.
TrainingState LoadCheckpoint(const std::string& folder, const std::string& solver_type,
                             ParameterStore* store, const Solver* solver);

// Bytes of one checkpoint without residuals, nearly.
uint64_t CheckpointBytes(const ParameterStore& store, const Solver& solver);

extern const char kWeightsFile[];
extern const char kChunksFile[];
// "residual-00003.safetensors"
std::string ResidualFile(int rank);

}  // namespace gf
