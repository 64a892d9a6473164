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
  };

  // Throws UserError for settings that do not go together.
  StepUpdate(const SolverConfig& solver, const CommConfig& comm, int world, const Parts& parts);

  // After the state and residuals of a checkpoint were loaded, if there is one.
  void Restore();

  // What the loss is multiplied by: the loss scale, divided by about the world where FP16 sums of
  // so many gradients could overflow. A power of two if the loss scale is one.
  double loss_factor() const { return scaler_.scale() / share_; }

  // At the end of a step's backward pass over `micro_batches` batches per rank.
  void Finish(double lr, int micro_batches);
  // Brings the loss scale and the state up to the step that was finished last, if that has not been
  // done. To be called before the next step's GradientFlow::BeginStep. Throws AgreedError if
  // training cannot go on.
  void Conclude();

  // Calls `save` while residuals are those of unscaled gradients, as checkpoints have them.
  template <typename Save>
  auto Unscaled(const Save& save) {
    parts_.flow->Rescale(static_cast<float>(1 / loss_factor()));
    auto result = save();
    parts_.flow->Rescale(static_cast<float>(loss_factor()));
    return result;
  }

 private:
  void Skip();
  // Calls `change`, which changes the loss scale, and keeps the residuals in proportion.
  void ChangeScale(void (LossScaler::*change)());

  const Parts parts_;
  const int world_;
  LossScaler scaler_;
  double share_ = 1;
  // Whether an update must wait for all ranges.
  bool wait_ = false;
  // Finish was called, Conclude was not, and the step's rate.
  bool open_ = false;
  double lr_ = 0;
};

}  // namespace gf
