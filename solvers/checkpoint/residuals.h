#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "comm/communicator.h"
#include "comm/flow/gradient_flow.h"
#include "comm/topk/residual_units.h"
#include "core/config/job.pb.h"
#include "models/parameter_store.h"
#include "solvers/checkpoint/checkpoint_folder.h"

namespace gf {

// Note [Residuals in checkpoints]
// Compressors keep on every rank the gradients that they have not sent (GradientFlow::State). They
// depend on the rank's images, so every rank's are saved: residual-<rank>.safetensors holds
// "residual/conv1.weight", ... in plain order, FP32, of TOPK also "velocity/conv1.weight". They are
// in the unit of a rank's mean gradient over the batches of a step (StepUpdate::Unscaled). PERIODIC
// saves differences of weights that were not sent ("outer_residual/..."), the velocity of the outer
// step ("outer_momentum/...") and the solver's pools, which differ between the ranks
// ("local_momentum/...").
// chunks.safetensors holds the numbers of the chunks that are important in the next step
// ("important_chunks", I64), and in its metadata the chunk size and the elements of a pool, without
// which these numbers mean nothing; of LOW_RANK also the right factors of the last step, of SPARSE
// the steps whose weight decay each chunk's next update applies ("shared", F32). Only rank 0
// touches the disk; the others' residuals travel one rank and one tensor at a time.
//
// Resuming continues with the same bits if world, mode and settings are the same. Otherwise:
//   another world           every rank gets the mean of the saved ranks' residuals. The solver
//                           divides sums by the world, so the residuals' part in the mean gradient,
//                           their sum divided by the world, stays the same
//   another chunk size      the residuals remain; the first step communicates all chunks
//   another rank of factors the residuals remain; LOW_RANK's factors start anew
//   no waiting times        SPARSE's chunks have waited for no step
//   a tensor that the mode sends as a whole, and the checkpoint's did not
//                           its residual is added to its gradient in the first step
//   no residuals (LAZY)     the job starts with none; SPARSE's first step communicates all chunks
//   no chunks               SPARSE's first step communicates all chunks
//   a mode without them     the residuals are lost
//   from TOPK to another mode, or from another to TOPK
//                           residuals are converted: Note [Units of residuals]
//   to or from PERIODIC, or from a round to a longer warm-up
//                           all ranks take the solver's pools of rank 0

bool HasResidual(const GradientFlow& flow);

// Stages the files of the Note for the checkpoint of `step` and returns them on rank 0, the only
// one that uses `folder`; called by all ranks. Throws UserError on all of them.
ExtraFiles StageResiduals(CheckpointFolder* folder, int64_t step, const ParameterStore& store,
                          const GradientFlow& flow, const SparseConfig& config, Communicator* comm);

// Gives a new flow what the checkpoint in `folder` (known to rank 0) holds for it, see the Note;
// called by all ranks. `saved_ranks`: the checkpoint's residual_ranks. `note` gets remarks for
// people on rank 0. Throws UserError on all ranks for files that do not fit the net.
void LoadResiduals(const std::string& folder, int saved_ranks, const SparseConfig& config,
                   const MomentumOfSolver& solver, ParameterStore* store, GradientFlow* flow,
                   Communicator* comm, const std::function<void(const std::string&)>& note);

// Bytes that residuals add to a checkpoint at most, nearly; `flow` is new.
uint64_t ResidualBytes(const GradientFlow& flow, const ParameterStore& store, int world);

}  // namespace gf
