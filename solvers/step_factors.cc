#include "solvers/step_factors.h"

#include <cmath>

namespace gf {
namespace {

float Correction(float beta, int64_t updates) {
  return static_cast<float>(
      1 / (1 - std::pow(static_cast<double>(beta), static_cast<double>(updates))));
}

}  // namespace

MomentumFactors MomentumFactorsOf(const SolverConfig& config, const UpdateScalars& scalars) {
  double momentum = config.momentum();
  const bool inside = config.momentum_form() == SolverConfig::RATE_INSIDE;
  if (inside && config.correct_momentum() && scalars.last_lr > 0) {
    momentum *= scalars.lr / scalars.last_lr;
  }
  MomentumFactors factors;
  factors.gradient_rate = factors.weight_rate = 1;
  factors.momentum = static_cast<float>(momentum);
  factors.scale = static_cast<float>(scalars.gradient_scale);
  factors.nesterov = config.nesterov();
  return factors;
}

AdaptiveFactors AdaptiveFactorsOf(const SolverConfig& config, const UpdateScalars& scalars,
                                  float epsilon) {
  AdaptiveFactors factors;
  factors.beta1 = config.beta1();
  factors.beta2 = config.beta2();
  factors.correction1 = Correction(config.beta1(), scalars.update);
  factors.correction2 = Correction(config.beta2(), scalars.update);
  factors.epsilon = config.has_epsilon() ? config.epsilon() : epsilon;
  factors.scale = static_cast<float>(scalars.gradient_scale);
  return factors;
}

}  // namespace gf
