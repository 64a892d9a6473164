#include "comm/periodic/round_schedule.h"

#include <algorithm>
#include <cmath>

namespace gf {

RoundSchedule::RoundSchedule(const PeriodicConfig& config, int64_t total_steps)
    : round_steps_(config.steps()), total_steps_(total_steps) {
  warmup_steps_ =
      static_cast<int64_t>(std::ceil(config.warmup_fraction() * static_cast<double>(total_steps)));
  warmup_steps_ = std::clamp<int64_t>(warmup_steps_, 0, total_steps);
  rounds_ = (total_steps - warmup_steps_ + round_steps_ - 1) / round_steps_;
}

bool RoundSchedule::ends(int64_t step) const { return CompleteSteps(step + 1) == step + 1; }

int64_t RoundSchedule::CompleteSteps(int64_t steps) const {
  if (steps <= warmup_steps_) return steps;
  const int64_t rounds = (steps - warmup_steps_ + round_steps_ - 1) / round_steps_;
  const int64_t complete = warmup_steps_ + rounds * round_steps_;
  return steps > total_steps_ ? complete : std::min(complete, total_steps_);
}

CommConfig ExchangeOfDifferences(const CommConfig& config, DType wire) {
  CommConfig exchange = config;
  exchange.set_mode(config.periodic().exchange());
  exchange.set_wire_type(wire == DType::kFP32 ? CommConfig::FP32 : CommConfig::BF16);
  // Differences have no momentum of their own.
  exchange.mutable_sparse()->set_momentum_correction(false);
  exchange.mutable_topk()->set_momentum_correction(false);
  return exchange;
}

}  // namespace gf
