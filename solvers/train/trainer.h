#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "core/config/job.pb.h"
#include "core/telemetry/timeline.h"
#include "solvers/train/start.h"

namespace gf {

struct TrainOptions {
  StartOptions start;
  // Same seed and number of ranks: same bits.
  bool deterministic = false;
  // Training ends after this step (0 = where the config says); the learning rate follows the
  // config's length all the same.
  int64_t stop_step = 0;
  // Steps whose timeline is recorded, and the file that rank 0 writes at the end.
  StepRange timeline_steps;
  std::string timeline_file = "timeline.json";
};

// Trains a net on all ranks of `comm`: the loop. Returns at the end of training, and when a
// signal asked for it, after a checkpoint. Throws UserError and CommError.
void Train(const JobConfig& config, const TrainOptions& options, Communicator* comm);

}  // namespace gf
