#include "solvers/train/statistics.h"

#include "core/host_copy.h"
#include "core/parallel.h"

namespace gf {

void StatisticsMean::StepDone() {
  current_ = false;
  if (every_step_) Take();
}

void StatisticsMean::Take() {
  if (current_) return;
  current_ = true;
  const int64_t count = store_->state_layout().count();
  if (comm_->size() == 1 || count == 0) return;
  HostCopy copy(store_->device(), store_->states());
  float* const values = copy.tensor().as<float>();
  comm_->AllReduceSum(values, count, DType::kFP32, "batch-norm statistics");
  const float world = static_cast<float>(comm_->size());
  ParallelFor(count, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) values[i] /= world;
  });
  copy.Put();
  store_->BumpVersion();
}

}  // namespace gf
