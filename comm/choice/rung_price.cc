#include "comm/choice/rung_price.h"

#include <algorithm>
#include <vector>

namespace gf {
namespace {

// A measurement beyond these says more about a disturbance than about the links.
constexpr double kLeastFactor = 0.5, kMostFactor = 2;
constexpr double kMostComputeLost = 0.5;
constexpr double kWorthIt = 0.01;

}  // namespace

StepSetup SetupOf(const StepFacts& facts, const PoolLayout& layout) {
  StepSetup setup;
  setup.layout = &layout;
  setup.compute.forward = facts.outside;
  double before = 0;
  for (int entry = 0; entry < static_cast<int>(facts.ready.size()); ++entry) {
    // An entry counts as ready when all before it are.
    const double ready = std::max(before, facts.ready[entry]);
    if (entry == 0 || ready > before) setup.compute.backward.push_back({ready - before, {}});
    setup.compute.backward.back().entries.push_back(entry);
    before = ready;
  }
  setup.compute.backward.push_back({std::max(0.0, facts.end - before), {}});
  // Seconds are given as bytes.
  setup.memory_bytes_per_s = 1e9;
  setup.update_waits = facts.update_waits;
  setup.traffic.update =
      setup.memory_bytes_per_s * facts.update / static_cast<double>(layout.count());
  // All but the first bucket's part of backward runs beside collectives.
  const double lost = 1 - facts.end / std::max(facts.end_beside, facts.end);
  setup.compute_lost = std::min(lost, kMostComputeLost);
  return setup;
}

double LinkFactor(const StepFacts& facts, const BucketSchedule& lazy, int64_t element_bytes,
                  CollectiveCosts* costs) {
  double seconds = 0;
  for (const Send& send : lazy.sends) {
    seconds += costs->Seconds(CollectiveCosts::kAllReduce, send.elements * element_bytes);
  }
  if (!(seconds > 0)) return 1;
  return std::clamp(facts.transfer / seconds, kLeastFactor, kMostFactor);
}

void PriceRung(const StepSetup& setup, const BucketSchedule& schedule, CollectiveCosts* costs,
               PricedRung* rung) {
  const std::vector<double> ranks(costs->world(), 1.0);
  const StepResult step = PriceStep(setup, schedule, ranks, costs);
  const CompressorSeconds work = setup.measured.value_or(CompressorSeconds());
  rung->priced = true;
  rung->buckets = schedule.buckets();
  rung->bytes = step.sent_bytes;
  rung->arithmetic = work.before + work.sum + work.after + work.last;
  rung->exposed = step.parts.exposed;
  rung->step = step.parts.total();
}

bool IsWorthIt(double step, const PricedRung& rung) {
  return !rung.priced || step < (1 - kWorthIt) * rung.step;
}

}  // namespace gf
