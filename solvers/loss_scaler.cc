#include "solvers/loss_scaler.h"

#include <algorithm>

#include "core/error.h"
#include "solvers/pool_arithmetic.h"

namespace gf {
namespace {

// With a larger factor, FP32 gradients would overflow.
constexpr double kLargest = 0x1p40;

}  // namespace

LossScaler::LossScaler(const LossScaleConfig& config) : config_(config) {
  const auto check = [](bool good, const char* field, double value, const char* expected) {
    if (!good) ThrowUserError("solver.loss_scale.", field, " is ", value, ", expected ", expected);
  };
  check(config.scale() >= 1 && config.scale() <= kLargest, "scale", config.scale(), "1 to 2^40");
  check(config.least() > 0 && config.least() <= config.scale(), "least", config.least(),
        "more than 0 and at most scale");
  check(config.growth_interval() > 0, "growth_interval",
        static_cast<double>(config.growth_interval()), "a number > 0");
  check(config.most_bad_steps() > 0, "most_bad_steps", config.most_bad_steps(), "a number > 0");
  if (active()) scale_ = config.scale();
}

void LossScaler::Taken() {
  bad_steps_ = 0;
  if (config_.policy() != LossScaleConfig::DYNAMIC) return;
  if (++clean_steps_ < config_.growth_interval()) return;
  clean_steps_ = 0;
  scale_ = std::min(scale_ * 2, kLargest);
}

void LossScaler::Skipped() {
  ++bad_steps_;
  clean_steps_ = 0;
  if (config_.policy() == LossScaleConfig::DYNAMIC) {
    scale_ = std::max(scale_ / 2, config_.least());
  }
}

void LossScaler::Restore(double scale, int64_t clean_steps) {
  if (config_.policy() != LossScaleConfig::DYNAMIC || !(scale >= config_.least()) ||
      !(scale <= kLargest)) {
    return;
  }
  scale_ = scale;
  clean_steps_ = clean_steps;
}

std::string LayerWithBadGradient(const ParameterStore& store) {
  const Tensor& gradient = store.gradient();
  const auto arithmetic = NewPoolArithmetic(store.device());
  for (const PoolEntry& entry : store.layout().entries()) {
    const ElementRange range = {entry.offset, entry.offset + entry.count};
    if (!arithmetic->Finite(gradient, range)) return entry.layer;
  }
  return "";
}

}  // namespace gf
