#include "solvers/loss_scaler.h"

#include <algorithm>

#include "core/config/job_checks.h"
#include "solvers/pool_arithmetic.h"

namespace gf {
LossScaler::LossScaler(const LossScaleConfig& config) : config_(config) {
  CheckLossScale(config, "solver.loss_scale");
  if (active()) scale_ = config.scale();
}

void LossScaler::Taken() {
  bad_steps_ = 0;
  if (config_.policy() != LossScaleConfig::DYNAMIC) return;
  if (++clean_steps_ < config_.growth_interval()) return;
  clean_steps_ = 0;
  scale_ = std::min(scale_ * 2, kLargestLossScale);
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
      !(scale <= kLargestLossScale)) {
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
