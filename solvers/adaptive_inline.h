#pragma once

// Formulas of LAMB, Muon and the element-wise adaptive solvers, for processors and GPUs. They are
// static, so that each variant of simd_library has its own copy.

#include <type_traits>

#include "core/host_device.h"
#include "solvers/update_factors.h"

#define GF_FORMULA GF_HOST_DEVICE static inline __attribute__((always_inline))

namespace gf {

#ifdef __CUDACC__
GF_FORMULA float SquareRoot(float x) { return sqrtf(x); }
#else
// sqrtf of <cmath> may set errno.
GF_FORMULA float SquareRoot(float x) { return __builtin_sqrtf(x); }
#endif

// Running means of a number, and of its square.
GF_FORMULA float MeanWith(float beta, float mean, float x) { return beta * mean + (1 - beta) * x; }
GF_FORMULA float MeanSquareWith(float beta, float mean, float x) {
  return beta * mean + (1 - beta) * x * x;
}

// The running mean of gradients with one more, and the direction that Muon makes orthogonal.
struct MuonElement {
  float mean, direction;
};
GF_FORMULA MuonElement MuonDirection(float mean, float gradient, const MuonFactors& f) {
  const float next = MeanWith(f.momentum, mean, gradient);
  return {next, f.nesterov ? MeanWith(f.momentum, next, gradient) : next};
}

// A mean that moves by `share` (0 to 1) of the way to x. It stays where it equals x, and 1 gives x
// itself.
GF_FORMULA float MovedTo(float x, float share, float mean) {
  const float from = share < 0.5f ? mean : x, part = share < 0.5f ? share : share - 1;
  return part == 0 ? from : from + part * (x - mean);
}

// The corrected mean m of the gradients over the root of their corrected mean square v.
GF_FORMULA float AdamDirection(float m, float v, const AdaptiveFactors& f) {
  return f.correction1 * m / (SquareRoot(f.correction2 * v) + f.epsilon);
}

// Whether a rule keeps two numbers per weight, or only the first.
static constexpr bool HasSecondState(AdaptiveRule rule) {
  return rule != AdaptiveRule::kAdaGrad && rule != AdaptiveRule::kRmsProp;
}

// A weight and the state that its solver keeps for it.
struct AdaptedWeight {
  float w, first, second;
};

// Returns the weight and its state after an update with the scaled gradient. With g = gradient +
// decay * w, for AdamW g = gradient:
//   Adam (Kingma and Ba, arXiv 1412.6980, algorithm 1):
//     first = beta1 * first + (1 - beta1) * g;  second = beta2 * second + (1 - beta2) * g^2
//     w -= rate * first / (1 - beta1^t) / (sqrt(second / (1 - beta2^t)) + epsilon)
//   AdamW (Loshchilov and Hutter, arXiv 1711.05101): w -= rate * decay * w, then as Adam.
//   AdaGrad (Duchi, Hazan and Singer 2011): first += g^2;  w -= rate * g / (sqrt(first) + epsilon)
//   RMSProp (Tieleman and Hinton 2012):
//     first = beta2 * first + (1 - beta2) * g^2;  w -= rate * g / (sqrt(first) + epsilon)
//   AdaDelta (Zeiler, arXiv 1212.5701):
//     first = beta2 * first + (1 - beta2) * g^2
//     u = g * sqrt((second + epsilon) / (first + epsilon))
//     second = beta2 * second + (1 - beta2) * u^2;  w -= rate * u
// AdaGrad and RMSProp leave w where the denominator is 0.
template <AdaptiveRule kRule>
GF_FORMULA AdaptedWeight Adapt(AdaptedWeight x, float gradient, const AdaptiveFactors& f,
                               float rate) {
  const float g = kRule == AdaptiveRule::kAdamW ? gradient : gradient + f.decay * x.w;
  if constexpr (kRule == AdaptiveRule::kAdam || kRule == AdaptiveRule::kAdamW) {
    if constexpr (kRule == AdaptiveRule::kAdamW) x.w -= rate * f.decay * x.w;
    x.first = MeanWith(f.beta1, x.first, g);
    x.second = MeanSquareWith(f.beta2, x.second, g);
    x.w -= rate * AdamDirection(x.first, x.second, f);
  } else if constexpr (kRule == AdaptiveRule::kAdaDelta) {
    x.first = MeanSquareWith(f.beta2, x.first, g);
    const float u = g * SquareRoot((x.second + f.epsilon) / (x.first + f.epsilon));
    x.second = MeanSquareWith(f.beta2, x.second, u);
    x.w -= rate * u;
  } else {
    x.first =
        kRule == AdaptiveRule::kAdaGrad ? x.first + g * g : MeanSquareWith(f.beta2, x.first, g);
    const float denominator = SquareRoot(x.first) + f.epsilon;
    x.w -= rate * (denominator == 0 ? 0.f : g / denominator);
  }
  return x;
}

// Calls body with a std::integral_constant that has the rule as its type's value.
template <typename Body>
static inline void WithRule(AdaptiveRule rule, const Body& body) {
  switch (rule) {
    case AdaptiveRule::kAdam:
      return body(std::integral_constant<AdaptiveRule, AdaptiveRule::kAdam>());
    case AdaptiveRule::kAdamW:
      return body(std::integral_constant<AdaptiveRule, AdaptiveRule::kAdamW>());
    case AdaptiveRule::kAdaGrad:
      return body(std::integral_constant<AdaptiveRule, AdaptiveRule::kAdaGrad>());
    case AdaptiveRule::kRmsProp:
      return body(std::integral_constant<AdaptiveRule, AdaptiveRule::kRmsProp>());
    case AdaptiveRule::kAdaDelta:
      return body(std::integral_constant<AdaptiveRule, AdaptiveRule::kAdaDelta>());
  }
}

}  // namespace gf

#undef GF_FORMULA
