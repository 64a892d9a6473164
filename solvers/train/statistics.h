#pragma once

#include "comm/communicator.h"
#include "models/parameter_store.h"

namespace gf {

// Keeps the batch-norm statistics of a store, and of its average, well defined on several ranks.
// Each rank gathers those of its own images; for evaluation and in checkpoints they are the mean
// over the ranks.
class StatisticsMean {
 public:
  // With `every_step` the mean is taken in each step, so that the bits of the statistics do not
  // depend on when it was asked for. The average must move after that: it then needs no mean.
  StatisticsMean(ParameterStore* store, Communicator* comm, bool every_step)
      : store_(store), comm_(comm), every_step_(every_step) {}

  // In each training step, when the statistics are complete.
  void StepDone();
  // Before the statistics are used or saved.
  void Take();

 private:
  void TakeOf(ParameterStore* store);

  ParameterStore* store_;
  Communicator* comm_;
  bool every_step_;
  bool current_ = true;
};

}  // namespace gf
