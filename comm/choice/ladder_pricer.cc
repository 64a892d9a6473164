#include "comm/choice/ladder_pricer.h"

#include <string>
#include <utility>

#include "comm/choice/rung_price.h"
#include "comm/flow/gradient_flow.h"
#include "comm/sparse/chunks.h"

namespace gf {
namespace {

// Bytes that a weight that goes ahead moves, in terms of an update's: 16 (weight, residual, and the
// written copy, which is read first) of 20 (weight and velocity twice, and the gradient).
constexpr double kAheadPerUpdate = 0.8;

}  // namespace

ExchangeChoice LadderPricer::Price(const std::vector<Rung>& ladder, const Rung& lazy,
                                   const std::string& noted, const StepFacts& facts) {
  const auto element = static_cast<int64_t>(SizeOf(WireOf(lazy.config)));
  MeasuredCosts costs(job_.options.config.algorithm(), job_.gradients.desc.dtype,
                      job_.largest * element, job_.transport, job_.comm);
  if (noted == lazy.name) {
    costs.Scale(LinkFactor(facts, ScheduleFor(lazy.config, {}), element, &costs));
  }
  StepSetup setup = SetupOf(facts, job_.layout);
  if (job_.options.steps_ahead) setup.traffic.ahead = kAheadPerUpdate * setup.traffic.update;
  ExchangeChoice choice;
  choice.limit = job_.options.config.auto_().exposed();
  choice.slower = job_.options.config.auto_().slower();
  choice.compute = facts.outside + facts.end + facts.update;
  choice.noted = noted;
  choice.noted_step = facts.step;
  for (const Rung& rung : ladder) {
    PricedRung priced;
    priced.name = rung.name;
    priced.verdict = rung.obstacle;
    if (rung.obstacle.empty()) {
      const auto probed = AgreeOnArithmetic(rung, &priced.verdict);
      if (probed) PriceThresholds(rung.config, *probed, &setup, &costs, &priced);
    }
    choice.rungs.push_back(std::move(priced));
  }
  return choice;
}

DType LadderPricer::WireOf(const CommConfig& config) const {
  return WireTypeOf(config, job_.gradients.desc.dtype);
}

// `important`: SPARSE's chunks, if this rank knows some.
BucketSchedule LadderPricer::ScheduleFor(const CommConfig& config,
                                         const std::vector<int64_t>& important) const {
  if (!important.empty()) {
    const ChunkGrid grid(job_.layout.count(), config.sparse().chunk_size());
    return SparseSchedule(job_.layout, config, static_cast<int64_t>(SizeOf(WireOf(config))),
                          ChunkSet(grid, important));
  }
  return ScheduleOf(job_.layout, config, WireOf(config), job_.comm->size(), DensityOf(config));
}

// Prices a rung with the thresholds that make the shortest step.
void LadderPricer::PriceThresholds(const CommConfig& config, const ProbedCompressor& probed,
                                   StepSetup* setup, MeasuredCosts* costs, PricedRung* rung) const {
  setup->measured = probed.seconds;
  costs->SetWire(WireOf(config));
  setup->wire_bytes = static_cast<int64_t>(SizeOf(WireOf(config)));
  for (const int power : ThresholdPowers(job_.options.config)) {
    PricedRung other = *rung;
    other.power = power;
    PriceRung(*setup, ScheduleFor(WithThresholds(config, power), probed.important_chunks), costs,
              &other);
    if (IsWorthIt(other.step, *rung)) *rung = other;
  }
}

// The arithmetic of the slowest rank; nothing, and the reason, if a rank cannot run it. Collective.
std::optional<ProbedCompressor> LadderPricer::AgreeOnArithmetic(const Rung& rung,
                                                                std::string* refusal) const {
  auto mine =
      ProbeArithmetic(rung.config, job_.layout, job_.gradients, job_.comm, job_.options, refusal);
  const CompressorSeconds own = mine.value_or(ProbedCompressor()).seconds;
  double most[] = {own.before, own.sum, own.after, own.last, mine ? 0.0 : 1.0};
  job_.comm->AllReduce(most, 5, ReduceOp::kMax, "arithmetic of " + rung.name);
  if (most[4] > 0) {
    if (mine) *refusal = "another rank has not enough memory";
    return std::nullopt;
  }
  mine->seconds = {most[0], most[1], most[2], most[3]};
  return mine;
}

}  // namespace gf
