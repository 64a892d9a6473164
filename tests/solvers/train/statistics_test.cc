#include "solvers/train/statistics.h"

#include <gtest/gtest.h>

#include "comm/local/communicator.h"
#include "tests/solvers/store_for_test.h"

namespace gf {
namespace {

void AddToStatistics(ParameterStore* store, float value) {
  for (const PoolEntry& entry : store->state_layout().entries()) {
    for (int64_t i = 0; i < entry.count; ++i) {
      store->states().as<float>()[entry.offset + i] += value;
    }
  }
}

std::vector<float> Statistics(const ParameterStore& store) {
  return Values(store, store.states(), store.state_layout());
}

TEST(StatisticsMeanTest, IsTheMeanOverTheRanks) {
  TestDevice();
  const std::vector<float> before = Statistics(*TestStore());
  RunLocal(4, 20, [&](Communicator* comm) {
    auto store = TestStore();
    StatisticsMean mean(store.get(), comm, false);
    AddToStatistics(store.get(), static_cast<float>(comm->rank()));
    mean.StepDone();
    mean.Take();
    const std::vector<float> after = Statistics(*store);
    for (size_t i = 0; i < after.size(); ++i) EXPECT_NEAR(after[i], before[i] + 1.5f, 1e-5);
  });
}

TEST(StatisticsMeanTest, TheAverageHasAMeanOfItsOwnUnlessEachStepTakesOne) {
  TestDevice();
  for (const bool every_step : {false, true}) {
    RunLocal(3, 20, [&](Communicator* comm) {
      auto store = TestStore();
      store->AddAverage();
      StatisticsMean mean(store.get(), comm, every_step);
      const auto rank = static_cast<float>(comm->rank());
      const Tensor& average = store->average()->states();
      for (int64_t i = 0; i < average.desc.shape.count(); ++i) average.as<float>()[i] = rank;
      mean.StepDone();
      mean.Take();
      for (const float value : Values(*store, average, store->state_layout())) {
        EXPECT_EQ(value, every_step ? rank : 1);
      }
    });
  }
}

TEST(StatisticsMeanTest, TakenAfterEveryStepItDoesNotMatterWhenItIsAskedFor) {
  TestDevice();
  RunLocal(3, 20, [](Communicator* comm) {
    auto asked = TestStore(), not_asked = TestStore();
    StatisticsMean first(asked.get(), comm, true), second(not_asked.get(), comm, true);
    for (int step = 0; step < 5; ++step) {
      AddToStatistics(asked.get(), 0.1f * static_cast<float>(comm->rank() + step));
      AddToStatistics(not_asked.get(), 0.1f * static_cast<float>(comm->rank() + step));
      first.StepDone();
      second.StepDone();
      first.Take();
      first.Take();
    }
    EXPECT_EQ(Statistics(*asked), Statistics(*not_asked));
  });
}

}  // namespace
}  // namespace gf
