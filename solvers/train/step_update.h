#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/flow/gradient_flow.h"
#include "core/config/job.pb.h"
#include "core/telemetry/timeline.h"
#include "solvers/checkpoint/checkpoint.h"
#include "solvers/loss_scaler.h"
#include "solvers/solver.h"
#include "solvers/train/step_ahead.h"
#include "solvers/updated_parameters.h"

namespace gf {

// From the sums of gradients to new weights: waits for the sums, updates range by range as the sums
// come where that is possible, and skips the update where the loss was scaled and a sum is not
// finite. A GPU finds that out and skips by itself; the host learns of it in Conclude.
class StepUpdate {
 public:
  // What it works on; all outlive the object.
  struct Parts {
    ParameterStore* store;
    Solver* solver;
    GradientFlow* flow;
    Timeline* timeline;
    TrainingState* state;  // updates, last_lr, loss_scale and clean_steps are kept up here
    std::function<void(const std::string&)> note;  // of skipped steps, for people
    // Called before a step's first change of the weights or the solver's state, after all sums have
    // come; if empty, a range is updated while other sums travel.
    std::function<void()> before_update;
    // Batches per rank in a step; if empty, solver.iter_size in every step.
    std::function<int(int64_t step)> micro_batches;
    // Called at the end of each step, also where loss scaling skips the update, which a GPU's host
    // does not know yet; not where the flow had no room for a sum. May be null.
    std::function<void(int64_t step)> after_update = nullptr;
    // Called in each step after all sums have come and before `before_update`; may be null.
    std::function<void()> sums_done = nullptr;
    // The number of steps that cover some epochs; null where no rule of the solver ends.
    std::function<int64_t(double epochs)> steps_of = nullptr;
    // Called before each step with the pool entries that it does not update, in order; may be null.
    std::function<void(const std::vector<int>& entries)> ended = nullptr;
  };

  // Throws UserError for settings that do not go together.
  StepUpdate(const SolverConfig& solver, const CommConfig& comm, int world, const Parts& parts);

  // After the state and residuals of a checkpoint were loaded, if there is one.
  void Restore();

  // What the loss of a batch is multiplied by: the loss scale, divided by about the world where
  // FP16 sums of so many gradients could overflow, and rounded down to a power of two where the
  // flow keeps residuals. A power of two if the loss scale and the number of batches in the step
  // are powers of two. See Note [Unit of residuals].
  double loss_factor() const { return unit() / micro_batches_; }

  // Before the first forward pass of the step state->step, whose rate is `lr`. Calls Parts::ended.
  // See Note [Step-ahead error feedback].
  void Begin(double lr);
  // Between two steps: nets compute with the weights themselves again.
  void StepBack() { ahead_.Back(); }

  // At the end of a step's backward pass over `micro_batches` batches per rank, the number that
  // Parts has for the step state->step.
  void Finish(double lr, int micro_batches);
  // Brings the loss scale, the state and the residuals up to the step that was finished last, if
  // that has not been done. To be called when state->step is the next step, before its
  // GradientFlow::BeginStep. Throws AgreedError if training cannot go on.
  void Conclude();

  // Calls `save` while residuals are in the unit of a rank's mean gradient over the batches of a
  // step, without loss scale, as checkpoints have them.
  template <typename Save>
  auto Unscaled(const Save& save) {
    parts_.flow->Rescale(static_cast<float>(1 / unit()));
    auto result = save();
    parts_.flow->Rescale(static_cast<float>(unit()));
    return result;
  }

 private:
  // Note [Unit of residuals]
  // Gradients are summed over the batches of a step, and what is not sent is added to the gradients
  // of later steps, which may have other numbers of batches and other loss scales. So residuals,
  // velocities and the limit of local clipping are kept in proportion to `unit()`: what a step's
  // sum over its batches is, in terms of their mean without loss scale. It is rounded down to a
  // power of two by way of loss_factor(): for 3 batches the sum is 2 times the mean, and a loss
  // scale of 1000 counts as 512. Then rescaling changes no bits, and whether a checkpoint was
  // written changes no result.
  double unit() const;
  // Sets the numbers for the batches of the step state->step.
  void SetBatches();

  void Skip();
  // Calls `change`, which changes unit(), and keeps the residuals in proportion.
  template <typename Change>
  void ChangeUnit(const Change& change) {
    const double before = unit();
    change();
    parts_.flow->Rescale(static_cast<float>(unit() / before));
  }

  const Parts parts_;
  const int iter_size_;
  const UpdatedParameters updated_;
  LossScaler scaler_;
  StepAhead ahead_;
  const bool keeps_residuals_;
  double share_ = 1;
  int micro_batches_ = 1;    // per rank in the step state->step
  double batches_unit_ = 1;  // the largest power of two that is not more
  // Finish was called, Conclude was not, and the step's rate.
  bool open_ = false;
  double lr_ = 0;
};

}  // namespace gf
