#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "solvers/pool_arithmetic.h"
#include "solvers/solver.h"
#include "tests/solvers/store_for_test.h"

namespace gf {
namespace {

// One gradient value; the stored (rounded) value comes back.
double SetGradient(const Tensor& gradient, int64_t i, float value) {
  if (gradient.desc.dtype == DType::kFP32) {
    gradient.as<float>()[i] = value;
    return value;
  }
  gradient.as<uint16_t>()[i] = ToBF16(value);
  return FromBF16(ToBF16(value));
}

SolverConfig Config() {
  SolverConfig config;
  config.set_momentum(0.9f);
  config.set_weight_decay(0.01f);
  return config;
}

TEST(SgdTest, LeavesEntriesOutsideTheRangeAndThePaddingAlone) {
  auto store = TestStore();
  auto solver = NewSolver("solver", "SGD", Config(), store.get());
  const int64_t size = store->layout().count();
  const float* w = store->master().as<float>();
  const std::vector<float> before(w, w + size);
  for (int64_t i = 0; i < size; ++i) store->gradient().as<float>()[i] = 1;
  const PoolEntry &second = store->layout().entries()[1], &third = store->layout().entries()[2];
  UpdateScalars scalars;
  scalars.lr = 0.1;
  solver->BeginStep(scalars);
  solver->Update({{second.offset, third.offset + third.count}});
  const auto& entries = store->layout().entries();
  for (int e = 0; e < 4; ++e) {
    const int64_t first = entries[e].offset, last = first + entries[e].count;
    const int64_t end = e + 1 < 4 ? entries[e + 1].offset : size;
    for (int64_t i = first; i < last; ++i) EXPECT_EQ(w[i] == before[i], e == 0 || e == 3) << i;
    for (int64_t i = last; i < end; ++i) EXPECT_EQ(w[i], 0) << i;
  }
}

TEST(SgdTest, RangesMayCutTensors) {
  auto whole = TestStore(), cut = TestStore();
  auto a = NewSolver("solver", "SGD", Config(), whole.get());
  auto b = NewSolver("solver", "SGD", Config(), cut.get());
  const int64_t size = whole->layout().count();
  const int64_t middle = whole->layout().entries()[1].offset + 1;
  UpdateScalars scalars;
  scalars.lr = 0.1;
  for (int step = 0; step < 3; ++step) {
    for (int64_t i = 0; i < size; ++i) {
      const auto value = static_cast<float>((i + step) % 7);
      whole->gradient().as<float>()[i] = cut->gradient().as<float>()[i] = value;
    }
    a->BeginStep(scalars);
    a->Update({{0, size}});
    b->BeginStep(scalars);
    b->Update({{0, middle}, {middle, size}});
  }
  EXPECT_EQ(Values(*whole, whole->master(), whole->layout()),
            Values(*cut, cut->master(), cut->layout()));
}

TEST(SgdTest, CatchesUpOnWeightDecayByChunks) {
  for (const SolverConfig::MomentumForm form :
       {SolverConfig::RATE_INSIDE, SolverConfig::RATE_OUTSIDE}) {
    auto store = TestStore();
    SolverConfig config = Config();
    config.set_momentum_form(form);
    auto solver = NewSolver("solver", "SGD", config, store.get());
    const int64_t size = store->layout().count(), chunk = 50;
    std::vector<float> steps((size + chunk - 1) / chunk);
    for (size_t c = 0; c < steps.size(); ++c) steps[c] = static_cast<float>(c % 4 + 1);
    // Without a limit this decay would change the weight's sign.
    steps[2] = 1e6f;
    DecaySteps decay;
    decay.steps.data = steps.data();
    decay.steps.desc = {Shape{static_cast<int64_t>(steps.size())}, DType::kFP32, Layout()};
    decay.chunk = chunk;
    float* const w = store->master().as<float>();
    const std::vector<float> before(w, w + size);
    for (int64_t i = 0; i < size; ++i) store->gradient().as<float>()[i] = 0.5f;
    UpdateScalars scalars;
    scalars.lr = 0.1;
    solver->SetDecaySteps(decay);
    solver->BeginStep(scalars);
    solver->Update({{0, size}});
    for (const PoolEntry& entry : store->layout().entries()) {
      const double rate = 0.1 * entry.lr_mult;
      for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
        const double factor = std::min(0.01 * entry.decay_mult * steps[i / chunk], 0.5 / rate);
        const double expected = before[i] - rate * (0.5 + factor * before[i]);
        ASSERT_NEAR(w[i], expected, 1e-6 * std::max(1.0, std::fabs(expected))) << i;
      }
    }
  }
}

TEST(SgdTest, RefusesMomentumOfOne) {
  auto store = TestStore();
  SolverConfig config;
  config.set_momentum(1);
  EXPECT_THROW(NewSolver("solver", "SGD", config, store.get()), UserError);
}

TEST(SolverRegistryTest, NamesTheKnownSolvers) {
  auto store = TestStore();
  try {
    NewSolver("solver", "SGDD", Config(), store.get());
    FAIL();
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("SGD"), std::string::npos) << e.what();
  }
}

TEST(AccumulatorTest, SumsInFp32EvenWhereBf16WouldLoseTheAddends) {
  auto store = TestStore(DType::kBF16);
  Accumulator accumulator(store.get());
  const std::vector<int> all = {0, 1, 2, 3};
  const int64_t last = store->layout().entries()[3].offset + store->layout().entries()[3].count - 1;
  // 256 + 1 is not a BF16 number: summed in BF16 the ones would vanish.
  SetGradient(store->gradient(), last, 256);
  accumulator.Add(all);
  SetGradient(store->gradient(), last, 1);
  for (int i = 0; i < 3; ++i) accumulator.Add(all);
  accumulator.Merge(all);
  EXPECT_EQ(FromBF16(store->gradient().as<uint16_t>()[last]), 260);
  // The sums start anew.
  SetGradient(store->gradient(), last, 3);
  accumulator.Merge(all);
  EXPECT_EQ(FromBF16(store->gradient().as<uint16_t>()[last]), 3);
}

TEST(AccumulatorTest, Fp32SumsAreExact) {
  auto store = TestStore();
  Accumulator accumulator(store.get());
  for (int i = 1; i <= 3; ++i) {
    for (const PoolEntry& entry : store->layout().entries()) {
      for (int64_t k = 0; k < entry.count; ++k) {
        SetGradient(store->gradient(), entry.offset + k, static_cast<float>(i * (k % 5)));
      }
    }
    if (i < 3) accumulator.Add({0, 1, 2, 3});
  }
  accumulator.Merge({0, 1});
  accumulator.Merge({2, 3});
  for (const PoolEntry& entry : store->layout().entries()) {
    for (int64_t k = 0; k < entry.count; ++k) {
      ASSERT_EQ(store->gradient().as<float>()[entry.offset + k], 6.0f * (k % 5)) << entry.name;
    }
  }
}

}  // namespace
}  // namespace gf
