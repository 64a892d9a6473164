#include "solvers/train/step_ahead.h"

namespace gf {

void StepAhead::Prepare(const GradientFlow& flow) {
  if (enabled_) store_->SetOwnCompute(flow.may_wait());
}

void StepAhead::Go(const GradientFlow& flow, double lr, double scale, bool everything) {
  if (!enabled_) return;
  Prepare(flow);
  WaitingGradients waiting = flow.waiting();
  if (waiting.residual.data == nullptr) return;
  if (everything) waiting.ranges = {{0, store_->layout().count()}};
  if (waiting.ranges.empty()) return;
  solver_->StepAhead(waiting.residual, waiting.ranges, lr, scale);
  store_->BumpVersion();
}

void StepAhead::Back() {
  if (enabled_) store_->SyncCompute();
}

}  // namespace gf
