#pragma once

#include "comm/choice/measured_costs.h"
#include "comm/choice/step_notes.h"
#include "comm/flow/exchange_choice.h"
#include "comm/price/bucket_schedule.h"
#include "comm/price/step.h"
#include "core/pool_layout.h"

namespace gf {

// The step of a job by what its first steps have shown: everything but the wire type and the
// compressor's arithmetic. The layout outlives it.
StepSetup SetupOf(const StepFacts& facts, const PoolLayout& layout);

// How many times as long as `costs` says the allreduces of LAZY's steps took, within reason.
// `lazy`: its schedule, `element_bytes`: of an element on the wire.
double LinkFactor(const StepFacts& facts, const BucketSchedule& lazy, int64_t element_bytes,
                  CollectiveCosts* costs);

// Fills in the figures of a rung with a step of this schedule; its name and verdict are left alone.
void PriceRung(const StepSetup& setup, const BucketSchedule& schedule, CollectiveCosts* costs,
               PricedRung* rung);

// Whether a step with other thresholds replaces the price of a rung: it is clearly shorter, or the
// rung has no price yet.
bool IsWorthIt(double step, const PricedRung& rung);

}  // namespace gf
