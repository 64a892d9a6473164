#include "solvers/train/step_outcome.h"

#include <cmath>
#include <string>

#include "comm/agree.h"
#include "core/error.h"
#include "solvers/loss_scaler.h"
#include "solvers/train/signals.h"

namespace gf {
double MeanLoss(const std::vector<PendingLoss>& losses) {
  double loss = 0;
  losses.back().Value();  // waits; the other losses came before
  for (const PendingLoss& part : losses) loss += part.Value() / static_cast<double>(losses.size());
  return loss;
}

RoundOutcome AgreeOnOutcome(const std::vector<FinishedStep>& steps, int64_t number,
                            const ParameterStore* store, Communicator* comm) {
  const size_t count = steps.size();
  // Losses, the number of ranks on which they are not finite, signals.
  std::vector<double> values(2 * count + 2);
  for (size_t i = 0; i < count; ++i) {
    const bool finite = std::isfinite(steps[i].loss);
    values[i] = finite ? steps[i].loss : 0;
    values[count + i] = finite ? 0 : 1;
  }
  values[2 * count] = StopRequested() ? 1 : 0;
  values[2 * count + 1] = CheckpointRequested() ? 1 : 0;
  comm->AllReduce(values.data(), static_cast<int64_t>(values.size()), ReduceOp::kSum,
                  StrCat("loss of step ", number));
  RoundOutcome outcome;
  for (size_t i = 0; i < count; ++i) {
    if (const auto diverged = static_cast<int64_t>(values[count + i])) {
      const std::string layer = store == nullptr ? "" : LayerWithBadGradient(*store);
      throw AgreedError(StrCat(
          layer.empty() ? "" : "gradients are not finite, first in layer \"" + layer + "\", and ",
          "the loss is not finite (", steps[i].loss, ") on ", diverged, " of ", comm->size(),
          " ranks in step ", number - static_cast<int64_t>(count - 1 - i), ", learning rate ",
          steps[i].lr,
          ": training has diverged. Lower solver.base_lr or lengthen the warm-up, and check mean "
          "and std of the data; --resume continues from the last checkpoint"));
    }
    outcome.losses.push_back(values[i] / comm->size());
  }
  outcome.stop = values[2 * count] > 0;
  outcome.checkpoint = values[2 * count + 1] > 0;
  return outcome;
}

}  // namespace gf
