#include "solvers/train/step_update.h"

#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "comm/agree.h"
#include "core/readable.h"

namespace gf {

StepUpdate::StepUpdate(const SolverConfig& solver, const CommConfig& comm, int world,
                       const Parts& parts)
    : parts_(parts),
      iter_size_(solver.iter_size()),
      updated_(solver, *parts.store, parts.steps_of),
      scaler_(solver.loss_scale()),
      ahead_(parts.flow, parts.store, parts.solver, &updated_),
      keeps_residuals_(!parts.flow->State().empty() || comm.mode() == CommConfig::AUTO) {
  // CheckJob refuses both.
  CHECK(!comm.sharded_update() || !(scaler_.active() || parts.solver->whole_tensors()));
  const DType wire = WireTypeOf(comm, parts.store->gradient().desc.dtype);
  if (scaler_.active() && wire == DType::kFP16) {
    while (share_ < world) share_ *= 2;
  }
  SetBatches();
  ahead_.Prepare();
}

void StepUpdate::Restore() {
  const TrainingState& state = *parts_.state;
  if (state.step > 0) scaler_.Restore(state.loss_scale, state.clean_steps);
  SetBatches();
  parts_.flow->Rescale(static_cast<float>(unit()));
}

double StepUpdate::unit() const {
  const double scale = scaler_.scale() / share_;
  int exponent = 0;
  std::frexp(scale, &exponent);
  return (keeps_residuals_ ? std::ldexp(0.5, exponent) : scale) * batches_unit_;
}

void StepUpdate::SetBatches() {
  micro_batches_ = parts_.micro_batches ? parts_.micro_batches(parts_.state->step) : iter_size_;
  batches_unit_ = 1;
  while (batches_unit_ * 2 <= micro_batches_) batches_unit_ *= 2;
}

void StepUpdate::Begin(double lr) {
  if (parts_.ended) parts_.ended(updated_.EndedEntries(parts_.state->step));
  if (!parts_.flow->steps_ahead()) return;
  const Timeline::Span span(parts_.timeline, lane::kUpdate, "step ahead");
  // The host does not know yet whether a GPU skips an update.
  const bool may_have_skipped = scaler_.active();
  ahead_.Go(parts_.state->step, lr, 1 / unit(), may_have_skipped);
}

void StepUpdate::Finish(double lr, int micro_batches) {
  CHECK(!open_) << "the step before was not concluded";
  CHECK(!parts_.micro_batches || micro_batches == micro_batches_);
  TrainingState* const state = parts_.state;
  UpdateScalars scalars;
  scalars.lr = lr;
  scalars.last_lr = state->last_lr;
  scalars.gradient_scale = 1 / (loss_factor() * parts_.flow->summed_ranks() * micro_batches);
  scalars.update = state->updates + 1;
  scalars.only_if_finite = scaler_.active();
  Solver* const solver = parts_.solver;
  const auto update = [&](const std::vector<ElementRange>& ranges) {
    const Timeline::Span span(parts_.timeline, lane::kUpdate, "update");
    solver->Update(updated_.Updated(state->step, ranges));
  };
  const bool waits = scaler_.active() || parts_.before_update ||
                     // Ranges may be parts of tensors.
                     (solver->whole_tensors() && parts_.flow->may_wait());
  std::vector<ElementRange> deferred;
  solver->SetCarried(parts_.flow->carries_momentum());
  solver->SetDecaySteps(parts_.flow->decay_steps());
  solver->BeginStep(scalars);
  parts_.flow->Finish([&](const std::vector<ElementRange>& ranges) {
    if (scaler_.active()) solver->Inspect(updated_.Updated(state->step, ranges));
    if (waits) {
      deferred.insert(deferred.end(), ranges.begin(), ranges.end());
    } else {
      update(ranges);
    }
  });
  if (scaler_.active()) solver->ReadFinite();
  if (parts_.sums_done) parts_.sums_done();
  if (waits && !parts_.flow->overflowed()) {
    if (parts_.before_update) parts_.before_update();
    std::sort(deferred.begin(), deferred.end(),
              [](const ElementRange& a, const ElementRange& b) { return a.begin < b.begin; });
    update(deferred);
  }
  if (parts_.after_update && !parts_.flow->overflowed()) parts_.after_update(state->step);
  open_ = true;
  lr_ = lr;
}

void StepUpdate::Conclude() {
  if (!std::exchange(open_, false)) return;
  TrainingState* const state = parts_.state;
  const bool finite = !scaler_.active() || parts_.solver->Finite();
  if (!finite || parts_.flow->overflowed()) {
    Skip();
  } else {
    state->last_lr = lr_;
    ++state->updates;
    ChangeUnit([&] { scaler_.Taken(); });
  }
  ChangeUnit([&] { SetBatches(); });
  state->loss_scale = scaler_.scale();
  state->clean_steps = scaler_.clean_steps();
}

void StepUpdate::Skip() {
  const std::string layer = LayerWithBadGradient(*parts_.store);
  const std::string where =
      layer.empty() ? " in chunks that were not exchanged" : ", first in layer \"" + layer + "\"";
  const std::string what = StrCat("step ", parts_.state->step, ": gradients are not finite", where);
  const double scale = scaler_.scale();
  ChangeUnit([&] { scaler_.Skipped(); });
  if (!scaler_.active() || scaler_.exhausted()) {
    const int64_t earlier = scaler_.bad_steps() - 1;
    throw AgreedError(
        StrCat(what, earlier > 0 ? StrCat(", after ", Counted(earlier, "such step")) : "",
               ", loss scale ", scale,
               ": training has diverged. Lower solver.base_lr or lengthen the warm-up; --resume "
               "continues from the last checkpoint"));
  }
  parts_.note(StrCat(what, "; skipped, loss scale ", scaler_.scale()));
}

}  // namespace gf
