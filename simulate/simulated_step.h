#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/price/step.h"
#include "simulate/net_model.h"
#include "simulate/plan_price.h"

namespace gf {

// A step and the algorithm of its allreduces.
struct SimulatedSetup : StepSetup {
  std::string algorithm = "auto";
};

struct SimulatedStep : StepResult {
  std::array<double, kLinkKinds> traffic = {};  // bytes through the busiest link of each kind
};

// The compute of a net's step with these times.
StepCompute ComputeOf(const NetModel& net, const ComputeTimes& times);

// A step on a cluster: PriceStep with the prices of plans. `factors`: one per rank.
SimulatedStep SimulateStep(const SimulatedSetup& setup, const BucketSchedule& schedule,
                           const std::vector<double>& factors, Pricer* pricer, bool spans = false);

// Compute factors of the ranks in a step: normally distributed with mean 1 and standard deviation
// `jitter`, at least 0.5. A pure function of its arguments.
std::vector<double> JitterOf(double jitter, int world, uint64_t seed, int64_t step);

// The factors over several batches between which ranks do not wait for each other: means vary less.
std::vector<double> OverBatches(std::vector<double> factors, double batches);

}  // namespace gf
