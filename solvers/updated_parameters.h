#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/config/job.pb.h"
#include "models/parameter_store.h"

namespace gf {

// Which parameters the steps of training update: those whose rule has not ended
// (ParameterRuleConfig.until_epoch). A function of the step alone, so a resumed job knows it, too.
class UpdatedParameters {
 public:
  // `steps_of`: the number of steps that cover some epochs (BatchSchedule::StepsOf); null: the
  // config ends no rule. Throws UserError for a rule that matches no parameter.
  UpdatedParameters(const SolverConfig& config, const ParameterStore& store,
                    const std::function<int64_t(double epochs)>& steps_of);

  // The parts of `ranges` that a step updates, and the other parts. Results end within a tensor
  // only where `ranges` do. Steps count from 0.
  std::vector<ElementRange> Updated(int64_t step, const std::vector<ElementRange>& ranges) const {
    return Select(step, ranges, true);
  }
  std::vector<ElementRange> Ended(int64_t step, const std::vector<ElementRange>& ranges) const {
    return Select(step, ranges, false);
  }

  // The pool entries that a step does not update, in order.
  std::vector<int> EndedEntries(int64_t step) const;

 private:
  // A part of the pool up to an element, from the end of the part before, and the number of steps
  // that update it.
  struct Part {
    int64_t end = 0, steps = 0;
  };

  std::vector<ElementRange> Select(int64_t step, const std::vector<ElementRange>& ranges,
                                   bool updated) const;

  std::vector<Part> parts_;           // in order; the whole pool
  std::vector<int64_t> entry_steps_;  // by pool entry, the number of steps that update it
};

}  // namespace gf
