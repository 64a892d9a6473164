#pragma once

#include "core/host_device.h"

namespace gf {

// The constants of one update of a range by a solver with momentum (MomentumSolver).
struct MomentumFactors {
  float gradient_rate = 0;  // factor of the term that is added to the velocity
  float weight_rate = 1;    // factor of the velocity in the update of the weights
  float momentum = 0;
  float decay = 0;  // weight decay of these parameters
  float scale = 1;  // factor of the gradient
  bool nesterov = false;
  // The gradient carries its momentum already: it goes to the weights past the velocity.
  bool carried = false;
};

// The decay of an update that makes up for `steps` steps, of which a rate of this size takes at
// most half of a weight.
GF_HOST_DEVICE inline float CaughtUpDecay(float decay, float steps, float rate) {
  const float most = rate > 0 && rate * decay < 0.5f ? 0.5f / rate : decay;
  return decay * steps < most ? decay * steps : most;
}

// The constants of one update of a range by LAMB or by an AdaptiveRule.
struct AdaptiveFactors {
  float beta1 = 0, beta2 = 0;
  float correction1 = 1, correction2 = 1;  // 1 / (1 - beta ^ updates)
  float epsilon = 0;
  float decay = 0;  // weight decay of these parameters
  float scale = 1;  // factor of the gradient
};

// Coefficients of Muon's polynomial a x + b x^3 + c x^5 (Jordan et al. 2024,
// https://kellerjordan.github.io/posts/muon). Five iterations move singular values between about
// 0.01 and 1 to values between 0.7 and 1.2.
constexpr float kMuonA = 3.4445f, kMuonB = -4.7750f, kMuonC = 2.0315f;
// Directions with a smaller norm do not get the norm 1.
constexpr double kLeastMuonNorm = 1e-7;

// The constants of one update of a matrix by Muon.
struct MuonFactors {
  float momentum = 0;  // of the running mean of gradients
  float scale = 1;     // factor of the gradient
  bool nesterov = false;
};

// The rules of solvers that scale each element's step by a history of this element's gradients;
// Adapt has the formulas.
enum class AdaptiveRule { kAdam, kAdamW, kAdaGrad, kRmsProp, kAdaDelta };

}  // namespace gf
