// Jobs that train a part of their parameters.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/estimate/gpu.h"
#include "simulate/job_run.h"
#include "tests/simulate/job_for_test.h"

namespace gf {
namespace {

const std::vector<std::string> kTrunk = {"freeze=conv*,bn*"};

TEST(SimulatedFreezeTest, LayersBelowTheLowestTrainedParameterRunForwardOnly) {
  const Simulator whole(Job()), frozen(Job(kTrunk));
  ASSERT_EQ(whole.net().layers.size(), frozen.net().layers.size());
  for (const LayerModel& layer : whole.net().layers) EXPECT_EQ(layer.backward, 1) << layer.name;
  bool trained = false;
  for (const LayerModel& layer : frozen.net().layers) {
    const bool lowest = layer.name == "fc6";
    trained = trained || lowest;
    if (layer.type == "Input") continue;
    EXPECT_EQ(layer.backward, lowest ? 0.5 : trained ? 1 : 0) << layer.name;
    EXPECT_EQ(layer.entries.empty(), layer.type != "InnerProduct") << layer.name;
  }
  for (const PoolEntry& entry : frozen.net().layout.entries()) {
    EXPECT_EQ(entry.name.rfind("fc", 0), 0u) << entry.name;
  }
  // A frozen layer between trained ones passes gradients on.
  const Simulator between(Job({"freeze=fc7*"}));
  for (const LayerModel& layer : between.net().layers) EXPECT_EQ(layer.backward, 1) << layer.name;
}

TEST(SimulatedFreezeTest, FrozenParametersDoNotTravel) {
  Simulator whole(Job()), frozen(Job(kTrunk));
  const RunResult all = whole.Run(64), some = frozen.Run(64);
  const auto count = [](const Simulator& simulator) {
    return static_cast<double>(simulator.net().layout.parameter_count());
  };
  EXPECT_LT(count(frozen), count(whole));
  EXPECT_NEAR(static_cast<double>(some.sent_bytes) / static_cast<double>(all.sent_bytes),
              count(frozen) / count(whole), 1e-3);
  EXPECT_LE(some.step.update, all.step.update);
  EXPECT_NEAR(some.step.forward, all.step.forward, 1e-6 * all.step.forward);
  EXPECT_LT(some.step.backward, 0.5 * all.step.backward);
  EXPECT_GT(some.step.backward, 0);
}

TEST(SimulatedFreezeTest, OnAGpuTheFrozenNetIsEstimated) {
  const auto run = [](const std::vector<std::string>& settings) {
    SimulatedJob job = Job(settings);
    job.gpu = &FindGpu("--gpu", "h200");
    return Simulator(job).Run(8);
  };
  const RunResult all = run({}), some = run(kTrunk);
  EXPECT_LT(some.step.backward, 0.5 * all.step.backward);
  EXPECT_GT(some.step.backward, 0);
  EXPECT_LT(some.sent_bytes, all.sent_bytes);
}

TEST(SimulatedFreezeTest, MistakesAreNamed) {
  EXPECT_NE(ErrorOf(Job({"freeze=conv*,nowhere"})).find("freeze[1]: \"nowhere\" fits none of the"),
            std::string::npos);
  EXPECT_EQ(ErrorOf(Job({"freeze=*"})),
            "freeze: fits all parameters of the net: nothing is left to train");
}

}  // namespace
}  // namespace gf
