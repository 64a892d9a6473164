// Every solver against its formula in double precision, over 20 updates.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
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
  int iterations = 5;  // of Muon
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
  config.mutable_muon()->set_nesterov(c.nesterov);
  config.mutable_muon()->set_iterations(c.iterations);
  config.mutable_muon()->set_rate(c.correct ? MuonConfig::ORIGINAL : MuonConfig::MATCH_ADAMW);
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

bool IsAdaptive(const std::string& type) {
  return type == "Adam" || type == "AdamW" || type == "AdaGrad" || type == "RMSProp" ||
         type == "AdaDelta";
}

void Adaptive(const std::string& type, const SolverConfig& config, const UpdateScalars& s,
              double lr_mult, double decay, Reference* r) {
  const double b1 = config.beta1(), b2 = config.beta2(), t = static_cast<double>(s.update);
  const double rate = s.lr * lr_mult;
  for (size_t i = 0; i < r->w.size(); ++i) {
    double &w = r->w[i], &m = r->m[i], &v = r->v[i];
    if (type == "AdamW") w *= 1 - rate * decay;
    const double g = type == "AdamW" ? r->g[i] : r->g[i] + decay * w;
    v = type == "AdaGrad" ? v + g * g : b2 * v + (1 - b2) * g * g;
    if (type == "Adam" || type == "AdamW") {
      m = b1 * m + (1 - b1) * g;
      w -= rate * m / (1 - std::pow(b1, t)) / (std::sqrt(v / (1 - std::pow(b2, t))) + 1e-8);
    } else if (type == "AdaDelta") {
      const double u = std::sqrt(m + 1e-6) / std::sqrt(v + 1e-6) * g;
      m = b2 * m + (1 - b2) * u * u;
      w -= rate * u;
    } else {
      w -= rate * g / (std::sqrt(v) + 1e-8);
    }
  }
}

// Row by row.
using Matrix = std::vector<double>;

// a [m][k] times b [k][n], or times the transposed b [n][k].
Matrix Product(const Matrix& a, const Matrix& b, int64_t m, int64_t n, bool transposed) {
  const auto k = static_cast<int64_t>(a.size()) / m;
  Matrix product(m * n);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      for (int64_t e = 0; e < k; ++e) {
        product[i * n + j] += a[i * k + e] * (transposed ? b[j * k + e] : b[e * n + j]);
      }
    }
  }
  return product;
}

void Muon(const Case& c, const SolverConfig& config, const UpdateScalars& s, double lr_mult,
          double decay, const Shape& shape, Reference* r) {
  const double momentum = config.muon().momentum(), rate = s.lr * lr_mult;
  const int64_t rows = shape[0], columns = shape.count() / rows;
  Matrix x(r->w.size());
  for (size_t i = 0; i < x.size(); ++i) {
    r->m[i] += (1 - momentum) * (r->g[i] - r->m[i]);
    x[i] = c.nesterov ? r->g[i] + momentum * (r->m[i] - r->g[i]) : r->m[i];
  }
  const double norm = std::max(Norm(x), 1e-7);
  for (double& value : x) value /= norm;
  for (int i = 0; i < c.iterations; ++i) {
    // From the side of the rows, whichever is longer.
    const Matrix gram = Product(x, x, rows, rows, true);
    Matrix polynomial = Product(gram, gram, rows, rows, false);
    for (size_t e = 0; e < gram.size(); ++e) {
      polynomial[e] = -4.7750 * gram[e] + 2.0315 * polynomial[e];
    }
    for (int64_t e = 0; e < rows; ++e) polynomial[e * rows + e] += 3.4445;
    x = Product(polynomial, x, rows, columns, false);
  }
  const double factor = c.correct ? std::sqrt(std::max(1.0, static_cast<double>(rows) / columns))
                                  : 0.2 * std::sqrt(static_cast<double>(std::max(rows, columns)));
  for (size_t i = 0; i < x.size(); ++i) {
    r->w[i] = (1 - rate * decay) * r->w[i] - rate * factor * x[i];
  }
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
    // As buckets, with the gaps between tensors; they cut a tensor where the solver allows it.
    const int64_t cut = solver->whole_tensors() ? entries[2].offset : entries[1].offset + 101;
    const ElementRange first{0, cut}, second{cut, store->layout().count()};
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
      } else if (c.type == "Muon" && entries[e].shape.rank() > 1) {
        Muon(c, config, scalars, entries[e].lr_mult, decay, entries[e].shape, &tensors[e]);
      } else if (c.type == "Muon") {
        Adaptive("AdamW", config, scalars, entries[e].lr_mult, decay, &tensors[e]);
      } else if (IsAdaptive(c.type)) {
        Adaptive(c.type, config, scalars, entries[e].lr_mult, decay, &tensors[e]);
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
      // The iterations magnify what FP32 rounds in small singular values.
      const double tolerance = c.type == "Muon" ? 1e-5 : 1e-6;
      ASSERT_NEAR(store->master().as<float>()[at], tensors[e].w[i], tolerance * largest)
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
    {"Adam", "Adam"},
    {"AdamPlain", "Adam", SolverConfig::RATE_INSIDE, false, false, true},
    // Adam has no use for what forms a momentum.
    {"AdamNesterov", "Adam", SolverConfig::RATE_OUTSIDE, true, true},
    {"AdamW", "AdamW"},
    {"AdamWPlain", "AdamW", SolverConfig::RATE_INSIDE, false, false, true},
    {"AdaGrad", "AdaGrad"},
    {"RMSProp", "RMSProp"},
    {"AdaDelta", "AdaDelta"},
    {"Muon", "Muon"},
    {"MuonNesterov", "Muon", SolverConfig::RATE_INSIDE, true},
    {"MuonOriginalRate", "Muon", SolverConfig::RATE_INSIDE, true, true},
    {"MuonPlain", "Muon", SolverConfig::RATE_INSIDE, true, false, true, 4},
};

INSTANTIATE_TEST_SUITE_P(All, SolverReferenceTest,
                         testing::Combine(testing::ValuesIn(kCases),
                                          testing::Values(DType::kFP32, DType::kBF16)),
                         [](const auto& info) {
                           return std::get<0>(info.param).name + "_" +
                                  Name(std::get<1>(info.param));
                         });

// What the first update, with a rate of 1, subtracts from each weight, whose gradients are all
// `gradient`.
std::vector<float> FirstChange(const SolverConfig& config, float gradient) {
  PoolLayout layout;
  layout.Add(TestEntry("fc.weight", Shape({3, 21})));
  ParameterStore store(TestDevice(), layout, {}, DType::kFP32, true);
  const auto solver = NewSolver("solver", config.type(), config, &store);
  std::fill_n(store.master().as<float>(), layout.count(), 0.f);
  std::fill_n(store.gradient().as<float>(), layout.count(), gradient);
  UpdateScalars scalars;
  scalars.lr = 1;
  solver->BeginStep(scalars);
  solver->Update({{0, layout.count()}});
  std::vector<float> change = Values(store, store.master(), layout);
  for (float& value : change) value = -value;
  return change;
}

// The gradients are so small that epsilon counts.
TEST(AdaptiveSolversTest, EachHasItsEpsilon) {
  struct Expected {
    const char* type;
    float gradient;
    double by_default, with_more;  // changes with the default epsilon, and with 1e-3
  };
  const double b2 = SolverConfig().beta2();
  const double root = std::sqrt(1 - b2);  // of RMSProp's mean square after a gradient of 1
  for (const Expected& e : {
           Expected{"Adam", 1e-7f, 1e-7 / (1e-7 + 1e-8), 1e-7 / (1e-7 + 1e-3)},
           Expected{"AdamW", 1e-7f, 1e-7 / (1e-7 + 1e-8), 1e-7 / (1e-7 + 1e-3)},
           Expected{"AdaGrad", 1e-7f, 1e-7 / (1e-7 + 1e-8), 1e-7 / (1e-7 + 1e-3)},
           Expected{"RMSProp", 1e-6f, 1e-6 / (1e-6 * root + 1e-8), 1e-6 / (1e-6 * root + 1e-3)},
           Expected{"AdaDelta", 1, std::sqrt(1e-6 / (1 - b2 + 1e-6)),
                    std::sqrt(1e-3 / (1 - b2 + 1e-3))},
       }) {
    SolverConfig config;
    config.set_type(e.type);
    for (const float change : FirstChange(config, e.gradient)) {
      ASSERT_NEAR(change, e.by_default, 1e-5 * e.by_default) << e.type;
    }
    config.set_epsilon(1e-3f);
    for (const float change : FirstChange(config, e.gradient)) {
      ASSERT_NEAR(change, e.with_more, 1e-5 * e.with_more) << e.type;
    }
  }
}

TEST(AdaptiveSolversTest, WithoutEpsilonGradientsOfZeroChangeNothing) {
  for (const char* type : {"AdaGrad", "RMSProp"}) {
    SolverConfig config;
    config.set_type(type);
    config.set_epsilon(0);
    for (const float change : FirstChange(config, 0)) EXPECT_EQ(change, 0) << type;
    for (const float change : FirstChange(config, NAN)) EXPECT_TRUE(std::isnan(change)) << type;
  }
}

TEST(AdaptiveSolversTest, DividingByEpsilonOfZeroIsRefused) {
  for (const char* type : {"LAMB", "Adam", "AdamW", "AdaDelta", "Muon"}) {
    const auto store = TestStore();
    SolverConfig config;
    config.set_epsilon(0);
    try {
      NewSolver("solver", type, config, store.get());
      FAIL() << type;
    } catch (const UserError& e) {
      EXPECT_EQ(std::string(e.what()),
                std::string("solver.epsilon is 0, must be greater than 0 for ") + type);
    }
  }
}

// What checkpoints store is all that a solver needs to go on.
TEST(AdaptiveSolversTest, TheirStateIsComplete) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> names = {
      {"Adam", {"mean", "variance"}},     {"AdamW", {"mean", "variance"}},
      {"AdaGrad", {"squares"}},           {"RMSProp", {"squares"}},
      {"AdaDelta", {"squares", "steps"}}, {"Muon", {"mean", "variance"}}};
  for (const auto& [type, pools] : names) {
    SolverConfig config;
    config.set_weight_decay(0.01f);
    const auto store = TestStore(), resumed_store = TestStore();
    const int64_t count = store->layout().count();
    const auto solver = NewSolver("solver", type, config, store.get());
    const auto resumed = NewSolver("solver", type, config, resumed_store.get());
    Random random(5, 6);
    UpdateScalars scalars;
    scalars.lr = 0.01;
    const auto step = [&](Solver* each, ParameterStore* its, const std::vector<float>& gradients) {
      std::copy(gradients.begin(), gradients.end(), its->gradient().as<float>());
      each->BeginStep(scalars);
      each->Update({{0, count}});
    };
    std::vector<float> gradients(count);
    for (int i = 0; i < 6; ++i) {
      for (float& value : gradients) value = random.Gaussian();
      step(solver.get(), store.get(), gradients);
      if (i > 2) step(resumed.get(), resumed_store.get(), gradients);
      ++scalars.update;
      if (i != 2) continue;
      std::copy_n(store->master().as<float>(), count, resumed_store->master().as<float>());
      const auto from = solver->State(), to = resumed->State();
      ASSERT_EQ(from.size(), pools.size()) << type;
      for (size_t p = 0; p < pools.size(); ++p) {
        EXPECT_EQ(from[p].first, pools[p]) << type;
        std::copy_n(from[p].second.as<float>(), count, to[p].second.as<float>());
      }
    }
    EXPECT_EQ(Values(*store, store->master(), store->layout()),
              Values(*resumed_store, resumed_store->master(), resumed_store->layout()))
        << type;
  }
}

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
