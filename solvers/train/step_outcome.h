#pragma once

#include <cstdint>
#include <vector>

#include "comm/communicator.h"
#include "models/net.h"
#include "models/parameter_store.h"

namespace gf {

// A step whose work is enqueued.
struct StepInFlight {
  double lr = 0;
  int64_t images = 0;    // of all ranks
  int64_t position = 0;  // in the data, behind its batches
  double data_wait_s = 0;
  std::vector<PendingLoss> losses;  // of its batches
};

// What all ranks know of a step.
struct StepOutcome {
  double loss = 0;  // mean over batches and ranks
  // A signal to any rank asks for it.
  bool stop = false, checkpoint = false;
};

// Waits for the losses of step `number` and tells the other ranks of them, and of signals; called
// by all ranks. Throws AgreedError if the loss of any rank is not finite.
StepOutcome AgreeOnOutcome(const StepInFlight& step, int64_t number, const ParameterStore& store,
                           Communicator* comm);

}  // namespace gf
