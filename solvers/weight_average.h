#pragma once

#include <cstdint>
#include <memory>

#include "core/config/job.pb.h"
#include "models/parameter_store.h"
#include "solvers/pool_arithmetic.h"

namespace gf {

// Keeps ParameterStore::average up to date, on the device's compute stream.
class WeightAverage {
 public:
  // For a store that has an average. `config` has a decay above 0 and has passed CheckJob;
  // `last_step`: the number of steps that the learning rate is made for; UserError if the average
  // would never move within them.
  WeightAverage(const AverageConfig& config, int64_t last_step, ParameterStore* store);

  // The average becomes the weights and states: at the start of training.
  void Restart();
  // After the update of this step, the first of which is 0.
  void StepDone(int64_t step);

  // The share that the average keeps after this step: 1 where it does not change.
  double Keep(int64_t step) const;

 private:
  // Moves weights and states of `mean` by `share` of the way to those of `from`.
  void Move(const ParameterStore& from, double share, ParameterStore* mean);

  const AverageConfig config_;
  const int64_t last_step_;
  ParameterStore* const store_;
  const std::unique_ptr<PoolArithmetic> arithmetic_;
};

}  // namespace gf
