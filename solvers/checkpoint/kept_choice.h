#pragma once

#include <functional>
#include <string>

#include "comm/communicator.h"
#include "comm/flow/gradient_flow.h"
#include "core/config/job.pb.h"
#include "solvers/checkpoint/training_state.h"

namespace gf {

// Lets a new flow of comm.mode AUTO go on with what the job of a checkpoint had chosen, where that
// still holds: in the same world, with the same comm { } (but for its deadline and the flight
// recorder), batch, size of images and device, and as many `threads` on rank 0. Returns the choice
// that was adopted, "" if AUTO measures anew; nothing happens in other modes. `note` says which,
// and why. Called by all ranks. Throws UserError, CommError.
std::string KeepChoice(const TrainingState& checkpoint, const JobConfig& config, int threads,
                       GradientFlow* flow, Communicator* comm,
                       const std::function<void(const std::string&)>& note);

}  // namespace gf
