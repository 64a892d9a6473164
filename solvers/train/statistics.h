#pragma once

#include "comm/communicator.h"
#include "models/parameter_store.h"

namespace gf {

// Keeps the batch-norm statistics well defined on several ranks. Each rank gathers those of
// its own images; for evaluation and in checkpoints they are the mean over the ranks.
class StatisticsMean {
 public:
  // With `every_step` the mean is taken after each step, so that the bits of the statistics
  // do not depend on when it was asked for.
  StatisticsMean(ParameterStore* store, Communicator* comm, bool every_step)
      : store_(store), comm_(comm), every_step_(every_step) {}

  // After each training step.
  void StepDone();
  // Before the statistics are used or saved.
  void Take();

 private:
  ParameterStore* store_;
  Communicator* comm_;
  bool every_step_;
  bool current_ = true;
};

}  // namespace gf
