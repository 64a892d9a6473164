#include "solvers/weight_average.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/readable.h"

namespace gf {

WeightAverage::WeightAverage(const AverageConfig& config, int64_t last_step, ParameterStore* store)
    : config_(config),
      last_step_(last_step),
      store_(store),
      arithmetic_(NewPoolArithmetic(store->device())) {
  CHECK(store->average() != nullptr);
  if (config.interval_steps() > last_step) {
    ThrowUserError("solver.average.interval_steps is ", config.interval_steps(),
                   ", but the job has ", Counted(last_step, "step"),
                   ": the average would keep the initial weights; lower it");
  }
}

void WeightAverage::Move(const ParameterStore& from, double share, ParameterStore* mean) {
  arithmetic_->Average(from.master(), share, mean->master());
  arithmetic_->Average(from.states(), share, mean->states());
}

void WeightAverage::Restart() { Move(*store_, 1, store_->average().get()); }

double WeightAverage::Keep(int64_t step) const {
  const int64_t done = step + 1, interval = config_.interval_steps();
  if (done % interval != 0) return 1;
  double keep = config_.decay();
  if (config_.decay_power() > 0) {
    keep *= std::pow(static_cast<double>(done) / static_cast<double>(last_step_),
                     config_.decay_power());
  }
  if (config_.warmup()) {
    const auto updates = static_cast<double>(done / interval - 1);
    keep = std::min(keep, (1 + updates) / (10 + updates));
  }
  return keep;
}

void WeightAverage::StepDone(int64_t step) {
  const double keep = Keep(step);
  ParameterStore* const average = store_->average().get();
  if (keep < 1) Move(*store_, 1 - keep, average);
  if (!config_.lookahead() || (keep == 1 && step + 1 < last_step_)) return;
  Move(*average, 1, store_);
  store_->SyncCompute();
}

}  // namespace gf
