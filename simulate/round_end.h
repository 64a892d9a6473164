#pragma once

#include "core/dtype.h"
#include "simulate/plan_price.h"
#include "simulate/simulated_step.h"

namespace gf {

// Note [A simulated round]
// In a round of PERIODIC ranks compute for config.periodic.steps steps without waiting for each
// other. At the end of the round each rank subtracts its weights from those at the start, tensor by
// tensor, while the differences before travel in the schedule of the mode that carries them; then
// the outer step passes over all weights.

// The end of a round after its last update, from time 0. `setup`: of a step of the job; `wire`: the
// wire type of gradients.
SimulatedStep SimulateRoundEnd(const SimulatedSetup& setup, const CommConfig& config, DType wire,
                               Pricer* pricer, bool spans = false);

}  // namespace gf
