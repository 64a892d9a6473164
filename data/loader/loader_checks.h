#pragma once

#include "core/config/job.pb.h"

namespace gf {

// Decoding threads of a rank, at most.
constexpr int kMaxWorkers = 1024;

// Throws UserError for what of a loader's settings cannot be or contradicts itself; those of
// augmentation are checked by Augment. `training`: it is to deliver batches for training.
void CheckLoaderConfig(const DataConfig& config, bool training);

}  // namespace gf
