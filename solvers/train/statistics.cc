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
  if (comm_->size() == 1 || store_->state_layout().count() == 0) return;
  TakeOf(store_);
  if (store_->average() && !every_step_) TakeOf(store_->average().get());
}

void StatisticsMean::TakeOf(ParameterStore* store) {
  const int64_t count = store->state_layout().count();
  HostCopy copy(store->device(), store->states());
  float* const values = copy.tensor().as<float>();
  comm_->AllReduceSum(values, count, DType::kFP32, "batch-norm statistics");
  const float world = static_cast<float>(comm_->size());
  ParallelFor(count, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) values[i] /= world;
  });
  copy.Put();
  store->BumpVersion();
}

}  // namespace gf
