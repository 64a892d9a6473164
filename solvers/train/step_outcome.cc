#include "solvers/train/step_outcome.h"

#include <cmath>
#include <string>

#include "comm/agree.h"
#include "core/error.h"
#include "solvers/loss_scaler.h"
#include "solvers/train/signals.h"

namespace gf {
namespace {

double MeanLoss(const std::vector<PendingLoss>& losses) {
  double loss = 0;
  losses.back().Value();  // waits; the other losses came before
  for (const PendingLoss& part : losses) loss += part.Value() / static_cast<double>(losses.size());
  return loss;
}

}  // namespace

StepOutcome AgreeOnOutcome(const StepInFlight& step, int64_t number, const ParameterStore& store,
                           Communicator* comm) {
  const double loss = MeanLoss(step.losses);
  const bool finite = std::isfinite(loss);
  double values[4] = {finite ? loss : 0, finite ? 0.0 : 1.0, StopRequested() ? 1.0 : 0.0,
                      CheckpointRequested() ? 1.0 : 0.0};
  comm->AllReduce(values, 4, ReduceOp::kSum, StrCat("loss of step ", number));
  if (const auto diverged = static_cast<int64_t>(values[1])) {
    const std::string layer = LayerWithBadGradient(store);
    throw AgreedError(StrCat(
        layer.empty() ? "" : "gradients are not finite, first in layer \"" + layer + "\", and ",
        "the loss is not finite (", loss, ") on ", diverged, " of ", comm->size(),
        " ranks in step ", number, ", learning rate ", step.lr,
        ": training has diverged. Lower solver.base_lr or lengthen the warm-up, and check mean and "
        "std of the data; --resume continues from the last checkpoint"));
  }
  return {values[0] / comm->size(), values[2] > 0, values[3] > 0};
}

}  // namespace gf
