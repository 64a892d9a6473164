#pragma once

#include "comm/communicator.h"
#include "solvers/train/setup.h"

namespace gf {

// Throws UserError unless the net takes the images of every phase of train_data.size_phase.
void CheckSizes(const TrainingParts& parts);

// Builds the loader and the net anew for the image size of the next step (train_data.size_phase).
// The step before must be concluded. Called by all
// ranks. Throws UserError on all ranks.
void TakeImageSize(Communicator* comm, TrainingParts* parts);

}  // namespace gf
