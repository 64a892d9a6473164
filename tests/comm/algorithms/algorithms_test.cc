// What plan.h promises of every algorithm.
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "comm/plan.h"
#include "tests/comm/algorithms/placements.h"
#include "tests/comm/algorithms/plan_simulator.h"

namespace gf {
namespace {

std::vector<Plan> PlansOf(const Algorithm& algorithm, const Topology& topology) {
  std::vector<Plan> plans;
  for (int r = 0; r < topology.world(); ++r) plans.push_back(algorithm.AllReduce(r, topology));
  return plans;
}

void ExpectAllReduced(const std::vector<Plan>& plans, bool rendezvous) {
  const int world = static_cast<int>(plans.size()), parts = plans[0].parts;
  const Simulation run = Simulate(plans, OwnValues(world, parts), rendezvous);
  ASSERT_EQ(run.error, "");
  const std::vector<int> once(world, 1);
  for (int r = 0; r < world; ++r) {
    for (int p = 0; p < parts; ++p) {
      ASSERT_EQ(run.state[r][p].contributions, once) << "rank " << r << " part " << p;
      ASSERT_EQ(run.state[r][p].expression, run.state[0][p].expression)
          << "bits of rank " << r << " part " << p;
    }
  }
}

class AlgorithmTest : public testing::TestWithParam<const char*> {
 protected:
  void Check(const Topology& topology) {
    if (!algorithm_->Fits(topology)) return;
    ++checked_;
    SCOPED_TRACE(Describe(topology));
    const std::vector<Plan> plans = PlansOf(*algorithm_, topology);
    ExpectAllReduced(plans, /*rendezvous=*/true);
    if (!HasFatalFailure()) ExpectAllReduced(plans, /*rendezvous=*/false);
  }

  const std::unique_ptr<Algorithm> algorithm_ =
      AlgorithmRegistry::Get().Create("algorithm", GetParam());
  int checked_ = 0;
};

TEST_P(AlgorithmTest, EveryContributionIsAddedOnceAndRanksEndWithTheSameBits) {
  std::vector<int> worlds(17);
  std::iota(worlds.begin(), worlds.end(), 1);
  worlds.insert(worlds.end(), {31, 32, 64});
  for (const int world : worlds) {
    for (const Topology& topology : Placements(world)) {
      Check(topology);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GE(checked_, 40);
}

TEST_P(AlgorithmTest, EveryContributionIsAddedOnceOnAnyPlacement) {
  Random random(3, 1);
  for (int trial = 0; trial < 300; ++trial) {
    Check(Drawn(&random, 1 + static_cast<int>(random.Below(40))));
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(checked_, 100);
}

TEST_P(AlgorithmTest, WorldOfOneHasNoSteps) {
  EXPECT_TRUE(algorithm_->AllReduce(0, InBlocks(1, 1)).steps.empty());
}

INSTANTIATE_TEST_SUITE_P(All, AlgorithmTest,
                         testing::Values("ring", "recursive_doubling", "halving_doubling", "torus",
                                         "double_tree", "hierarchical"),
                         [](const auto& info) { return std::string(info.param); });

TEST(AlgorithmsTest, AllAreRegistered) {
  EXPECT_EQ(AlgorithmRegistry::Get().Names(),
            "double_tree, halving_doubling, hierarchical, recursive_doubling, ring, torus");
}

TEST(AlgorithmsTest, OnlyTorusAndHierarchicalNeedAPlacement) {
  std::set<std::string> fitting;
  for (const auto& name : AlgorithmRegistry::Get().Keys()) {
    const auto algorithm = AlgorithmRegistry::Get().Create("algorithm", name);
    if (algorithm->Fits(InBlocks(7, 1))) fitting.insert(name);
  }
  EXPECT_EQ(fitting, (std::set<std::string>{"double_tree", "halving_doubling", "recursive_doubling",
                                            "ring"}));
}

TEST(TorusTest, FitsWhereBothSidesAreLongerThanOne) {
  const auto torus = AlgorithmRegistry::Get().Create("algorithm", "torus");
  EXPECT_TRUE(torus->Fits(InBlocks(8, 4)));
  EXPECT_TRUE(torus->Fits(InBlocks(6, 1)));           // 2 x 3 ranks
  EXPECT_TRUE(torus->Fits(InBlocks(4, 4)));           // within a node
  EXPECT_TRUE(torus->Fits(Dealt(10, 2)));             // 2 x 5
  EXPECT_TRUE(torus->Fits(FromHosts({0, 0, 0, 1})));  // unequal nodes
  EXPECT_FALSE(torus->Fits(InBlocks(13, 1)));
  EXPECT_FALSE(torus->Fits(InBlocks(2, 1)));
  EXPECT_FALSE(torus->Fits(InBlocks(1, 1)));
}

TEST(HierarchicalTest, FitsSeveralNodesOfWhichOneHasSeveralRanks) {
  const auto hierarchical = AlgorithmRegistry::Get().Create("algorithm", "hierarchical");
  EXPECT_TRUE(hierarchical->Fits(InBlocks(8, 4)));
  EXPECT_TRUE(hierarchical->Fits(FromHosts({0, 1, 0})));
  EXPECT_FALSE(hierarchical->Fits(InBlocks(8, 1)));
  EXPECT_FALSE(hierarchical->Fits(InBlocks(8, 8)));
  EXPECT_FALSE(hierarchical->Fits(InBlocks(1, 1)));
}

TEST(RingReduceScatterTest, RankEndsWithTheSumOfItsPart) {
  for (const int world : {1, 2, 3, 4, 7, 16, 31}) {
    std::vector<Plan> plans;
    for (int r = 0; r < world; ++r) plans.push_back(RingReduceScatter(r, world));
    const Simulation run = Simulate(plans, OwnValues(world, world));
    ASSERT_EQ(run.error, "");
    for (int r = 0; r < world; ++r) {
      EXPECT_EQ(plans[r].parts, world);
      EXPECT_EQ(PartsSent(plans[r]), world - 1);
      EXPECT_EQ(run.state[r][r].contributions, std::vector<int>(world, 1)) << r << " of " << world;
    }
  }
}

TEST(RingAllGatherTest, EveryRankEndsWithEveryOwnersPart) {
  for (const int world : {1, 2, 3, 4, 7, 16, 31}) {
    std::vector<Plan> plans;
    for (int r = 0; r < world; ++r) plans.push_back(RingAllGather(r, world));
    const Simulation run = Simulate(plans, OwnValues(world, world));
    ASSERT_EQ(run.error, "");
    for (int r = 0; r < world; ++r) {
      EXPECT_EQ(PartsSent(plans[r]), world - 1);
      for (int p = 0; p < world; ++p) {
        std::vector<int> owner(world);
        owner[p] = 1;
        EXPECT_EQ(run.state[r][p].contributions, owner) << r << " of " << world;
        EXPECT_EQ(run.state[r][p].expression, run.state[p][p].expression);
      }
    }
  }
}

TEST(RingAllGatherTest, EndsAReduceScatterAsAnAllReduce) {
  for (const int world : {1, 2, 5, 8}) {
    std::vector<Plan> plans;
    for (int r = 0; r < world; ++r) {
      Plan plan = RingReduceScatter(r, world);
      for (const PlanStep& step : RingAllGather(r, world).steps) plan.steps.push_back(step);
      plans.push_back(plan);
    }
    ExpectAllReduced(plans, /*rendezvous=*/true);
  }
}

}  // namespace
}  // namespace gf
