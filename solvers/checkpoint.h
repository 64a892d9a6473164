#pragma once

#include <cstdint>
#include <string>

#include "models/parameter_store.h"
#include "solvers/solver.h"

namespace gf {

// Where training stands, apart from the weights and the solver's pools. Random numbers are
// functions of (seed, step, position), so nothing more is needed to continue.
struct TrainingState {
  int64_t step = 0;      // updates done
  int64_t position = 0;  // global number of the next sample (Loader::Seek)
  double epoch = 0;      // passes over the data done
  uint64_t seed = 0;
  int world = 1;
  int threads = 1;     // compute threads of rank 0; sums may be rounded differently with others
  std::string solver;  // its registered name
  std::string net;     // the net's name
  std::string config;  // the resolved config as text
};

// A checkpoint is a folder:
//   weights.safetensors    master weights and batch-norm statistics, plain order, FP32
//   optimizer.safetensors  the solver's pools
//   state.json             TrainingState, size and XXH3 of the other files, its own XXH3

// Writes these files into an existing empty folder and syncs them. Throws UserError, also for
// weights that are not finite.
void WriteCheckpointFiles(const std::string& folder, const TrainingState& state,
                          const ParameterStore& store, const Solver& solver);

// Reads state.json and compares every file with it. Throws UserError that says what is
// damaged.
TrainingState VerifyCheckpoint(const std::string& folder);

// Verifies a checkpoint and fills the pools. `solver` may be null: weights only. Throws
// UserError for damage, another net or another solver.
TrainingState LoadCheckpoint(const std::string& folder, const std::string& solver_type,
                             ParameterStore* store, const Solver* solver);

// Bytes of one checkpoint, nearly.
uint64_t CheckpointBytes(const ParameterStore& store, const Solver& solver);

extern const char kWeightsFile[];

}  // namespace gf
