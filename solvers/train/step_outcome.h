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

// A step that is done on this rank.
struct FinishedStep {
  double lr = 0;
  int64_t images = 0;  // of all ranks
  double data_wait_s = 0;
  double exposed_s = 0;  // it waited so long for the exchange of gradients
  double loss = 0;       // mean over its batches, on this rank
};

// Waits for the losses of a step and takes their mean.
double MeanLoss(const std::vector<PendingLoss>& losses);

// What all ranks know of a round of steps.
struct RoundOutcome {
  std::vector<double> losses;  // by step, the mean over batches and ranks
  // A signal to any rank asks for it.
  bool stop = false, checkpoint = false;
};

// Tells the other ranks of the losses of a round's steps, the last of which is step `number`, and
// of signals; called by all ranks at the end of a round. Throws AgreedError if a loss of any rank
// is not finite. `store`: to find the layer where gradients went wrong; null if its pool of
// gradients holds something else by now.
RoundOutcome AgreeOnOutcome(const std::vector<FinishedStep>& steps, int64_t number,
                            const ParameterStore* store, Communicator* comm);

}  // namespace gf
