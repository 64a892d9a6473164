#include "solvers/weight_average.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/error.h"
#include "tests/solvers/store_for_test.h"

namespace gf {
namespace {

AverageConfig Config(double decay, int64_t interval = 1) {
  AverageConfig config;
  config.set_decay(decay);
  config.set_interval_steps(interval);
  return config;
}

std::unique_ptr<ParameterStore> StoreWithAverage(DType compute = DType::kFP32) {
  auto store = TestStore(compute);
  store->AddAverage();
  return store;
}

// Adds `change` to all weights and statistics.
void Change(float change, ParameterStore* store) {
  for (const Tensor& pool : {store->master(), store->states()}) {
    for (int64_t i = 0; i < pool.desc.shape.count(); ++i) pool.as<float>()[i] += change;
  }
  store->SyncCompute();
}

void ExpectSame(const Tensor& a, const Tensor& b) {
  for (int64_t i = 0; i < a.desc.shape.count(); ++i) {
    ASSERT_EQ(a.as<float>()[i], b.as<float>()[i]) << i;
  }
}

TEST(WeightAverage, KeepsTheShareThatTheConfigSays) {
  const auto store = StoreWithAverage();
  EXPECT_EQ(WeightAverage(Config(0.9), 100, store.get()).Keep(0), 0.9);
  const WeightAverage rare(Config(0.9, 5), 100, store.get());
  EXPECT_EQ(rare.Keep(3), 1);
  EXPECT_EQ(rare.Keep(4), 0.9);
  AverageConfig config = Config(0.5);
  config.set_warmup(true);
  const WeightAverage warm(config, 100, store.get());
  EXPECT_DOUBLE_EQ(warm.Keep(0), 0.1);
  EXPECT_DOUBLE_EQ(warm.Keep(1), 2.0 / 11);
  EXPECT_EQ(warm.Keep(50), 0.5);
  config = Config(0.5);
  config.set_decay_power(3);
  const WeightAverage rising(config, 100, store.get());
  EXPECT_DOUBLE_EQ(rising.Keep(49), 0.5 / 8);
  EXPECT_DOUBLE_EQ(rising.Keep(99), 0.5);
}

TEST(WeightAverage, MovesWithinTheJob) {
  const auto store = StoreWithAverage();
  WeightAverage(Config(0.5, 12), 12, store.get());
  EXPECT_THROW(WeightAverage(Config(0.5, 13), 12, store.get()), UserError);
}

TEST(WeightAverage, WeightsThatStayAreTheirAverageToTheBit) {
  for (const double decay : {0.1, 0.9, 0.9999}) {
    const auto store = StoreWithAverage();
    WeightAverage average(Config(decay), 100, store.get());
    average.Restart();
    for (int step = 0; step < 50; ++step) average.StepDone(step);
    ExpectSame(store->average()->master(), store->master());
    ExpectSame(store->average()->states(), store->states());
  }
}

TEST(WeightAverage, WeightsAndStatisticsFollow) {
  for (const DType compute : {DType::kFP32, DType::kBF16}) {
    const auto store = StoreWithAverage(compute);
    WeightAverage average(Config(0.75), 100, store.get());
    average.Restart();
    const std::vector<float> start = Values(*store, store->master(), store->layout());
    const std::vector<float> state = Values(*store, store->states(), store->state_layout());
    Change(1, store.get());
    for (int step = 0; step < 3; ++step) average.StepDone(step);
    const float expected = 1 - 0.75f * 0.75f * 0.75f;
    const ParameterStore& mean = *store->average();
    const std::vector<float> weights = Values(mean, mean.master(), mean.layout());
    const std::vector<float> states = Values(mean, mean.states(), mean.state_layout());
    for (size_t i = 0; i < start.size(); ++i) EXPECT_NEAR(weights[i], start[i] + expected, 1e-6);
    for (size_t i = 0; i < state.size(); ++i) EXPECT_NEAR(states[i], state[i] + expected, 1e-6);
  }
}

TEST(WeightAverage, LookaheadGoesOnFromTheAverage) {
  AverageConfig config = Config(0.5, 2);
  config.set_lookahead(true);
  for (const DType compute : {DType::kFP32, DType::kBF16}) {
    const auto store = StoreWithAverage(compute);
    const auto start = Values(*store, store->master(), store->layout());
    WeightAverage average(config, 5, store.get());
    average.Restart();
    const auto first = [&] { return Values(*store, store->master(), store->layout())[0]; };
    Change(1, store.get());
    average.StepDone(0);
    EXPECT_FLOAT_EQ(first(), start[0] + 1) << "not yet";
    average.StepDone(1);
    EXPECT_FLOAT_EQ(first(), start[0] + 0.5f);
    ExpectSame(store->average()->master(), store->master());
    ExpectSame(store->average()->states(), store->states());
    if (compute == DType::kBF16) {
      EXPECT_NEAR(Values(*store, store->compute(), store->layout())[0], start[0] + 0.5f, 1e-2);
    }
    Change(1, store.get());
    average.StepDone(4);
    EXPECT_FLOAT_EQ(first(), start[0] + 0.5f) << "after the last step, without an update";
  }
}

}  // namespace
}  // namespace gf
