#pragma once

// Functions of one element, for processors and GPUs.

#include <cmath>

#include "core/host_device.h"

namespace gf {

// A function of one number. `a`, `b` and `c` are constants of the formula, see below.
struct Pointwise {
  enum Kind {
    kAbs,
    kBnll,
    kClip,
    kElu,
    kExp,
    kGelu,
    kGeluTanh,
    kHardSwish,
    kLog,
    kPower,
    kSwish,
  };
  Kind kind = kAbs;
  float a = 0, b = 0, c = 0;
};

// Below, Value(x) is the function and Slope(x) its derivative.

GF_HOST_DEVICE inline float Logistic(float x) { return 1 / (1 + expf(-x)); }

// |x|
struct AbsValue {
  explicit AbsValue(const Pointwise&) {}
  GF_HOST_DEVICE float Value(float x) const { return fabsf(x); }
  GF_HOST_DEVICE float Slope(float x) const { return x > 0 ? 1.f : x < 0 ? -1.f : 0.f; }
};

// log(1 + exp(x)), the binomial normal log likelihood
struct Bnll {
  explicit Bnll(const Pointwise&) {}
  GF_HOST_DEVICE float Value(float x) const { return fmaxf(x, 0.f) + log1pf(expf(-fabsf(x))); }
  GF_HOST_DEVICE float Slope(float x) const { return Logistic(x); }
};

// x limited to [a, b]
struct Clip {
  explicit Clip(const Pointwise& f) : a(f.a), b(f.b) {}
  GF_HOST_DEVICE float Value(float x) const { return x < a ? a : x > b ? b : x; }
  GF_HOST_DEVICE float Slope(float x) const { return x >= a && x <= b ? 1.f : 0.f; }
  float a, b;
};

// x for x > 0, a * (exp(x) - 1) elsewhere (Clevert, Unterthiner, Hochreiter 2016)
struct Elu {
  explicit Elu(const Pointwise& f) : a(f.a) {}
  GF_HOST_DEVICE float Value(float x) const { return x > 0 ? x : a * expm1f(x); }
  GF_HOST_DEVICE float Slope(float x) const { return x > 0 ? 1.f : a * expf(x); }
  float a;
};

// exp(a * x + b)
struct Exponential {
  explicit Exponential(const Pointwise& f) : a(f.a), b(f.b) {}
  GF_HOST_DEVICE float Value(float x) const { return expf(a * x + b); }
  GF_HOST_DEVICE float Slope(float x) const { return a * expf(a * x + b); }
  float a, b;
};

// x * P(z < x) for a standard normal z (Hendrycks, Gimpel 2016)
struct Gelu {
  explicit Gelu(const Pointwise&) {}
  GF_HOST_DEVICE static float Probability(float x) { return 0.5f * (1 + erff(x * 0.70710678f)); }
  GF_HOST_DEVICE float Value(float x) const { return x * Probability(x); }
  GF_HOST_DEVICE float Slope(float x) const {
    return Probability(x) + x * 0.39894228f * expf(-0.5f * x * x);
  }
};

// The approximation x * (1 + tanh(u)) / 2 of Gelu with u = sqrt(2 / pi) * (x + 0.044715 * x^3)
struct GeluTanh {
  explicit GeluTanh(const Pointwise&) {}
  GF_HOST_DEVICE static float Tanh(float x) {
    return tanhf(0.79788456f * (x + 0.044715f * x * x * x));
  }
  GF_HOST_DEVICE float Value(float x) const { return 0.5f * x * (1 + Tanh(x)); }
  GF_HOST_DEVICE float Slope(float x) const {
    const float t = Tanh(x), du = 0.79788456f * (1 + 3 * 0.044715f * x * x);
    return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * du;
  }
};

// x * min(max(x + 3, 0), 6) / 6 (Howard et al. 2019)
struct HardSwish {
  explicit HardSwish(const Pointwise&) {}
  GF_HOST_DEVICE float Value(float x) const {
    return x <= -3 ? 0.f : x >= 3 ? x : x * (x + 3) * (1.f / 6);
  }
  GF_HOST_DEVICE float Slope(float x) const {
    return x <= -3 ? 0.f : x >= 3 ? 1.f : (2 * x + 3) * (1.f / 6);
  }
};

// c * log(a * x + b)
struct Logarithm {
  explicit Logarithm(const Pointwise& f) : a(f.a), b(f.b), c(f.c) {}
  GF_HOST_DEVICE float Value(float x) const { return c * logf(a * x + b); }
  GF_HOST_DEVICE float Slope(float x) const { return c * a / (a * x + b); }
  float a, b, c;
};

// (a * x + b) ^ c
struct Power {
  explicit Power(const Pointwise& f) : a(f.a), b(f.b), c(f.c) {}
  GF_HOST_DEVICE float Value(float x) const { return powf(a * x + b, c); }
  GF_HOST_DEVICE float Slope(float x) const { return a * c * powf(a * x + b, c - 1); }
  float a, b, c;
};

// a * x + b, which is Power with c = 1
struct Line {
  explicit Line(const Pointwise& f) : a(f.a), b(f.b) {}
  GF_HOST_DEVICE float Value(float x) const { return a * x + b; }
  GF_HOST_DEVICE float Slope(float) const { return a; }
  float a, b;
};

// (a * x + b) ^ 2, which is Power with c = 2
struct Square {
  explicit Square(const Pointwise& f) : a(f.a), b(f.b) {}
  GF_HOST_DEVICE float Value(float x) const { return (a * x + b) * (a * x + b); }
  GF_HOST_DEVICE float Slope(float x) const { return 2 * a * (a * x + b); }
  float a, b;
};

// x / (1 + exp(-a * x)) (Ramachandran, Zoph, Le 2017)
struct Swish {
  explicit Swish(const Pointwise& f) : a(f.a) {}
  GF_HOST_DEVICE float Value(float x) const { return x * Logistic(a * x); }
  GF_HOST_DEVICE float Slope(float x) const {
    const float s = Logistic(a * x);
    return s + a * x * s * (1 - s);
  }
  float a;
};

// Calls body(f) with the struct above that computes `f`.
template <typename Body>
void WithPointwise(const Pointwise& f, const Body& body) {
  switch (f.kind) {
    case Pointwise::kAbs:
      return body(AbsValue(f));
    case Pointwise::kBnll:
      return body(Bnll(f));
    case Pointwise::kClip:
      return body(Clip(f));
    case Pointwise::kElu:
      return body(Elu(f));
    case Pointwise::kExp:
      return body(Exponential(f));
    case Pointwise::kGelu:
      return body(Gelu(f));
    case Pointwise::kGeluTanh:
      return body(GeluTanh(f));
    case Pointwise::kHardSwish:
      return body(HardSwish(f));
    case Pointwise::kLog:
      return body(Logarithm(f));
    case Pointwise::kPower:
      return f.c == 1 ? body(Line(f)) : f.c == 2 ? body(Square(f)) : body(Power(f));
    case Pointwise::kSwish:
      return body(Swish(f));
  }
}

}  // namespace gf
