#pragma once

#include "comm/communicator.h"
#include "core/config/job.pb.h"
#include "solvers/train/setup.h"

namespace gf {

// Trains a net on all ranks of `comm`. Returns at the end of training, and when a signal asked for
// it (WatchSignals), after a checkpoint. Throws UserError and CommError.
void Train(const JobConfig& config, const TrainOptions& options, Communicator* comm);

}  // namespace gf
