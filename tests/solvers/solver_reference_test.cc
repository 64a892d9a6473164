// Every solver against its formula in double precision, over 20 updates.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/random.h"
#include "solvers/solver.h"
#include "tests/solvers/store_for_test.h"

namespace gf {
namespace {

struct Case {
  std::string name;
  std::string type;
  SolverConfig::MomentumForm form = SolverConfig::RATE_INSIDE;
  bool nesterov = false, correct = false, plain = false;
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

SolverConfig ConfigOf(const Case& c) {
  SolverConfig config;
  config.set_type(c.type);
  config.set_momentum(0.9f);
  config.set_weight_decay(0.01f);
  config.set_trust_coefficient(c.type == "LARC" ? 0.02f : 0.05f);
  config.set_momentum_form(c.form);
  config.set_nesterov(c.nesterov);
  config.set_correct_momentum(c.correct);
  config.set_plain_bias_and_norm(c.plain);
  return config;
}

// A tensor in double precision.
struct Reference {
  std::vector<double> w, g, v, m;
};

double Norm(const std::vector<double>& values) {
  double sum = 0;
  for (double value : values) sum += value * value;
  return std::sqrt(sum);
}

void Momentum(const Case& c, const SolverConfig& config, const UpdateScalars& s, double lr_mult,
              double decay, bool adaptive, Reference* r) {
  double rate = s.lr;
  const double w = Norm(r->w), g = Norm(r->g);
  if (c.type != "SGD" && adaptive && w > 0 && g > 0) {
    const double eta = config.trust_coefficient();
    rate = c.type == "LARS" ? s.lr * eta * w / (g + decay * w) : std::min(s.lr, eta * w / g);
  }
  rate *= lr_mult;
  double momentum = config.momentum();
  if (c.correct && s.last_lr > 0) momentum *= s.lr / s.last_lr;
  for (size_t i = 0; i < r->w.size(); ++i) {
    const double gradient = r->g[i] + decay * r->w[i];
    if (c.form == SolverConfig::RATE_INSIDE) {
      const double before = r->v[i];
      r->v[i] = momentum * before + rate * gradient;
      // Caffe: (1 + momentum) v - momentum v_before
      r->w[i] -= c.nesterov ? (1 + momentum) * r->v[i] - momentum * before : r->v[i];
    } else {
      r->v[i] = momentum * r->v[i] + gradient;
      r->w[i] -= rate * (c.nesterov ? gradient + momentum * r->v[i] : r->v[i]);
    }
  }
}

void Lamb(const SolverConfig& config, const UpdateScalars& s, double lr_mult, double decay,
          bool adaptive, Reference* r) {
  const double b1 = config.beta1(), b2 = config.beta2(), t = static_cast<double>(s.update);
  std::vector<double> direction(r->w.size());
  for (size_t i = 0; i < r->w.size(); ++i) {
    r->m[i] = b1 * r->m[i] + (1 - b1) * r->g[i];
    r->v[i] = b2 * r->v[i] + (1 - b2) * r->g[i] * r->g[i];
    const double m = r->m[i] / (1 - std::pow(b1, t)), v = r->v[i] / (1 - std::pow(b2, t));
    direction[i] = m / (std::sqrt(v) + 1e-6) + decay * r->w[i];
  }
  const double w = Norm(r->w), d = Norm(direction);
  const double ratio = adaptive && w > 0 && d > 0 ? w / d : 1;
  for (size_t i = 0; i < r->w.size(); ++i) r->w[i] -= s.lr * lr_mult * ratio * direction[i];
}

class SolverReferenceTest : public testing::TestWithParam<std::tuple<Case, DType>> {};

TEST_P(SolverReferenceTest, TwentyUpdatesWithSkippedStepsBetween) {
  const Case& c = std::get<0>(GetParam());
  const DType type = std::get<1>(GetParam());
  const SolverConfig config = ConfigOf(c);
  auto store = TestStore(type);
  auto solver = NewSolver("solver", c.type, config, store.get());
  const auto& entries = store->layout().entries();
  std::vector<Reference> tensors;
  for (const PoolEntry& entry : entries) {
    const float* const w = store->master().as<float>() + entry.offset;
    const std::vector<double> zeros(entry.count);
    tensors.push_back({{w, w + entry.count}, zeros, zeros, zeros});
  }
  Random random(1, 2);
  UpdateScalars scalars;
  scalars.gradient_scale = 0.25;
  for (int step = 0; step < 25; ++step) {
    scalars.lr = 0.05 / (1 + 0.1 * step);
    solver->BeginStep(scalars);
    const bool overflow = step % 5 == 3;  // as a wrong loss scale makes
    for (size_t e = 0; e < entries.size(); ++e) {
      // The gradient of one tensor is zero throughout a step now and then.
      const float size = step == 2 && e == 1 ? 0 : 1;
      for (int64_t i = 0; i < entries[e].count; ++i) {
        const float value = size * random.Gaussian();
        const int64_t at = entries[e].offset + i;
        if (type == DType::kFP32) {
          store->gradient().as<float>()[at] = value;
        } else {
          store->gradient().as<uint16_t>()[at] = ToBF16(value);
        }
        tensors[e].g[i] = 0.25 * (type == DType::kFP32 ? value : FromBF16(ToBF16(value)));
      }
    }
    const int64_t last = entries[2].offset + entries[2].count - 1;
    const float bad = step == 3 ? std::numeric_limits<float>::infinity()
                                : std::numeric_limits<float>::quiet_NaN();
    if (overflow && type == DType::kFP32) store->gradient().as<float>()[last] = bad;
    if (overflow && type == DType::kBF16) store->gradient().as<uint16_t>()[last] = ToBF16(bad);
    // As buckets: whole tensors, some with the gaps between them.
    const ElementRange first{0, entries[2].offset},
        second{entries[2].offset, store->layout().count()};
    if (step % 2 == 1) {
      solver->Inspect({first});
      EXPECT_TRUE(solver->Finite());
      solver->Inspect({second});
      EXPECT_EQ(solver->Finite(), !overflow);
    }
    if (overflow) continue;
    if (step % 3 == 0) {
      solver->Update({first, second});
    } else {
      solver->Update({first});
      solver->Update({second});
    }
    for (size_t e = 0; e < entries.size(); ++e) {
      const bool plain = c.plain && entries[e].shape.rank() == 1;
      const double decay = plain ? 0 : config.weight_decay() * entries[e].decay_mult;
      if (c.type == "LAMB") {
        Lamb(config, scalars, entries[e].lr_mult, decay, !plain, &tensors[e]);
      } else {
        Momentum(c, config, scalars, entries[e].lr_mult, decay, !plain, &tensors[e]);
      }
    }
    scalars.last_lr = scalars.lr;
    ++scalars.update;
  }
  ASSERT_EQ(scalars.update, 21);
  for (size_t e = 0; e < entries.size(); ++e) {
    double largest = 0;
    for (double w : tensors[e].w) largest = std::max(largest, std::abs(w));
    for (int64_t i = 0; i < entries[e].count; ++i) {
      const int64_t at = entries[e].offset + i;
      ASSERT_NEAR(store->master().as<float>()[at], tensors[e].w[i], 1e-6 * largest)
          << entries[e].name << " " << i;
      if (type == DType::kBF16) {
        ASSERT_EQ(store->compute().as<uint16_t>()[at], ToBF16(store->master().as<float>()[at]));
      }
    }
  }
}

const Case kCases[] = {
    {"Sgd", "SGD"},
    {"SgdNesterov", "SGD", SolverConfig::RATE_INSIDE, true},
    {"SgdCorrected", "SGD", SolverConfig::RATE_INSIDE, false, true},
    {"SgdOutside", "SGD", SolverConfig::RATE_OUTSIDE},
    {"SgdOutsideNesterov", "SGD", SolverConfig::RATE_OUTSIDE, true},
    {"SgdPlain", "SGD", SolverConfig::RATE_INSIDE, false, false, true},
    {"Lars", "LARS"},
    {"LarsPlain", "LARS", SolverConfig::RATE_INSIDE, false, false, true},
    {"LarsOutsideNesterov", "LARS", SolverConfig::RATE_OUTSIDE, true},
    {"Larc", "LARC"},
    {"LarcPlainCorrected", "LARC", SolverConfig::RATE_INSIDE, false, true, true},
    {"Lamb", "LAMB"},
    {"LambPlain", "LAMB", SolverConfig::RATE_INSIDE, false, false, true},
};

INSTANTIATE_TEST_SUITE_P(All, SolverReferenceTest,
                         testing::Combine(testing::ValuesIn(kCases),
                                          testing::Values(DType::kFP32, DType::kBF16)),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" +
                                  Name(std::get<1>(info.param));
                         });

TEST(MomentumFormsTest, CorrectedInsideEqualsOutside) {
  auto inside = TestStore(), outside = TestStore();
  SolverConfig config;
  config.set_correct_momentum(true);
  auto a = NewSolver("solver", "SGD", config, inside.get());
  config.set_momentum_form(SolverConfig::RATE_OUTSIDE);
  auto b = NewSolver("solver", "SGD", config, outside.get());
  Random random(3, 4);
  UpdateScalars scalars;
  const int64_t count = inside->layout().count();
  for (int step = 0; step < 10; ++step) {
    for (int64_t i = 0; i < count; ++i) {
      inside->gradient().as<float>()[i] = outside->gradient().as<float>()[i] = random.Gaussian();
    }
    scalars.lr = step < 5 ? 0.1 : 0.01;
    a->BeginStep(scalars);
    a->Update({{0, count}});
    b->BeginStep(scalars);
    b->Update({{0, count}});
    scalars.last_lr = scalars.lr;
  }
  for (int64_t i = 0; i < count; ++i) {
    ASSERT_NEAR(inside->master().as<float>()[i], outside->master().as<float>()[i], 1e-6) << i;
  }
}

}  // namespace
}  // namespace gf
