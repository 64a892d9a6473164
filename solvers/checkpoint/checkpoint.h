#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/file_digest.h"
#include "models/parameter_store.h"
#include "solvers/checkpoint/training_state.h"
#include "solvers/solver.h"

namespace gf {

// A checkpoint is a folder:
//   weights.safetensors    master weights and batch-norm statistics, plain order, FP32; with
//                          solver.average their average
//   optimizer.safetensors  the solver's pools; with solver.average also the weights themselves
//   net.prototxt           the net for predictions (models/prediction_net.h); not in older ones
//   mean.binaryproto       the mean image, if the images for predictions need one
//   state.json             TrainingState, size and XXH3 of the other files, its own XXH3
// and with state.residual_ranks > 0 (their contents: solvers/checkpoint/residuals.h)
//   chunks.safetensors
//   residual-00000.safetensors ...

// A file of a checkpoint besides weights, optimizer and state.
using ExtraFiles = std::vector<std::pair<std::string, FileDigest>>;

// Writes weights, optimizer, net and state into an existing folder and syncs them. `extra`: the
// files that are there already, those that state.residual_ranks calls for. Throws UserError, also
// for weights that are not finite.
void WriteCheckpointFiles(const std::string& folder, const TrainingState& state,
                          const ParameterStore& store, const Solver& solver,
                          const ExtraFiles& extra = {});

// The step in the name of a checkpoint's folder, "step-00001234"; -1 for any other name.
int64_t StepOfName(const std::string& name);

// Reads state.json and looks at no other file. Throws UserError that says what is damaged.
TrainingState ReadState(const std::string& folder);

// Reads state.json and compares every file, and the folder's name, with it. Throws UserError that
// says what is damaged.
enum class CheckpointUse {
  kTraining,    // all files
  kPrediction,  // weights, net and mean image
};
TrainingState VerifyCheckpoint(const std::string& folder,
                               CheckpointUse use = CheckpointUse::kTraining);
// Whether state.json names the file, which VerifyCheckpoint then checks. Throws UserError if
// state.json is damaged.
bool RecordsFile(const std::string& folder, const std::string& name);

// Verifies a checkpoint and fills the pools. `solver` may be null: weights only. Throws
// UserError for damage, another net or another solver.
TrainingState LoadCheckpoint(const std::string& folder, const std::string& solver_type,
                             ParameterStore* store, const Solver* solver);

// Whether a checkpoint's weights file holds an average, and its optimizer file the weights.
bool CheckpointHasAverage(const std::string& folder);

// Bytes of one checkpoint without residuals, nearly.
uint64_t CheckpointBytes(const ParameterStore& store, const Solver& solver);

extern const char kWeightsFile[];
extern const char kChunksFile[];
extern const char kNetFile[];
extern const char kMeanFile[];
// "residual-00003.safetensors"
std::string ResidualFile(int rank);

}  // namespace gf
