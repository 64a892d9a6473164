#include "solvers/train/step_ahead.h"

namespace gf {

void StepAhead::Prepare() {
  if (flow_->steps_ahead()) store_->SetOwnCompute(flow_->may_wait());
}

bool StepAhead::Go(double lr, double scale, bool skipped) {
  if (!flow_->steps_ahead()) return false;
  Prepare();
  if (!flow_->may_wait()) return false;
  WaitingGradients waiting = flow_->waiting();
  if (skipped) waiting.ranges = {{0, store_->layout().count()}};
  if (waiting.ranges.empty()) return false;
  solver_->StepAhead(waiting.residual, waiting.ranges, lr, scale);
  store_->BumpVersion();
  return true;
}

void StepAhead::Back() {
  if (flow_->steps_ahead()) store_->SyncCompute();
}

}  // namespace gf
