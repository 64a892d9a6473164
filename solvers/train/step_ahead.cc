#include "solvers/train/step_ahead.h"

#include <vector>

namespace gf {

void StepAhead::Prepare() {
  if (flow_->steps_ahead()) store_->SetOwnCompute(flow_->may_wait());
}

bool StepAhead::Go(int64_t step, double lr, double scale, bool skipped) {
  if (!flow_->steps_ahead()) return false;
  Prepare();
  if (!flow_->may_wait()) return false;
  WaitingGradients waiting = flow_->waiting();
  if (skipped) waiting.ranges = {{0, store_->layout().count()}};
  if (waiting.ranges.empty()) return false;
  solver_->StepAhead(waiting.residual, updated_->Updated(step, waiting.ranges), lr, scale);
  // These were ahead in the step before, if it updated them.
  const std::vector<ElementRange> ended = updated_->Ended(step, waiting.ranges);
  if (!ended.empty()) solver_->StepAhead(waiting.residual, ended, /*lr=*/0, scale);
  store_->BumpVersion();
  return true;
}

void StepAhead::Back() {
  if (flow_->steps_ahead()) store_->SyncCompute();
}

}  // namespace gf
