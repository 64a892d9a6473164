#pragma once

#include "comm/communicator.h"
#include "solvers/train/setup.h"

namespace gf {

// Throws UserError unless the net takes the images of every phase of train_data.size_phase.
void CheckSizes(const TrainingParts& parts);

// Gives the loader and the net the size of the images of the step that comes next
// (train_data.size_phase), if it is another one. The step before must be concluded. Called by all
// ranks. Throws UserError on all ranks.
void TakeImageSize(Communicator* comm, TrainingParts* parts);

}  // namespace gf
