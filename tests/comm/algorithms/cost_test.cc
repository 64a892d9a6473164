// Steps and bytes are those of docs/algorithms.md. Messages are given in parts of the vector.
#include <gtest/gtest.h>

#include <algorithm>

#include "comm/plan.h"
#include "tests/comm/algorithms/placements.h"
#include "tests/comm/algorithms/plan_simulator.h"

namespace gf {
namespace {

constexpr int kPowers[] = {2, 4, 8, 16, 32, 64};

Plan PlanOf(const char* name, int rank, const Topology& topology) {
  return AlgorithmRegistry::Get().Create("algorithm", name)->AllReduce(rank, topology);
}

std::vector<Plan> PlansOf(const char* name, const Topology& topology) {
  std::vector<Plan> plans;
  for (int r = 0; r < topology.world(); ++r) plans.push_back(PlanOf(name, r, topology));
  return plans;
}

// Units of time that a message takes, one after the other.
int TimeOf(const char* name, const Topology& topology) {
  const std::vector<Plan> plans = PlansOf(name, topology);
  const Simulation run = Simulate(plans, OwnValues(topology.world(), plans[0].parts));
  EXPECT_EQ(run.error, "");
  return run.time;
}

// Lengths of the messages out.
std::vector<int> MessagesOf(const Plan& plan) {
  std::vector<int> lengths;
  for (const PlanStep& step : plan.steps) {
    if (step.send_to >= 0) lengths.push_back(step.send.end - step.send.begin);
  }
  return lengths;
}

int Log2(int n) { return n == 1 ? 0 : 1 + Log2(n / 2); }

// Parts that all ranks together send from node to node.
int PartsBetweenNodes(const std::vector<Plan>& plans, const Topology& topology) {
  int parts = 0;
  for (int r = 0; r < topology.world(); ++r) {
    for (const PlanStep& step : plans[r].steps) {
      if (step.send_to < 0 || topology.node[step.send_to] == topology.node[r]) continue;
      parts += step.send.end - step.send.begin;
    }
  }
  return parts;
}

TEST(RingCostTest, TwiceWorldLessOneStepsOfOnePart) {
  for (const int world : {2, 3, 5, 16, 31}) {
    for (const Plan& plan : PlansOf("ring", InBlocks(world, 4))) {
      EXPECT_EQ(plan.parts, world);
      EXPECT_EQ(MessagesOf(plan), std::vector<int>(2 * (world - 1), 1));
    }
    EXPECT_EQ(TimeOf("ring", InBlocks(world, 4)), 2 * (world - 1));
  }
}

TEST(RingCostTest, OneRankOfEachNodeSendsToAnotherNode) {
  for (const Topology& topology : {Dealt(16, 4), InBlocks(16, 4), Unequal(15)}) {
    const std::vector<Plan> plans = PlansOf("ring", topology);
    const int nodes = 1 + *std::max_element(topology.node.begin(), topology.node.end());
    EXPECT_EQ(PartsBetweenNodes(plans, topology), nodes * 2 * (topology.world() - 1));
  }
}

TEST(RecursiveDoublingCostTest, LogStepsOfTheWholeVector) {
  for (const int world : kPowers) {
    for (const Plan& plan : PlansOf("recursive_doubling", InBlocks(world, 1))) {
      EXPECT_EQ(plan.parts, 1);
      EXPECT_EQ(MessagesSent(plan), Log2(world));
    }
    EXPECT_EQ(TimeOf("recursive_doubling", InBlocks(world, 1)), Log2(world));
  }
}

TEST(RecursiveDoublingCostTest, OtherWorldsTakeAtMostThreeStepsMore) {
  for (const int world : {3, 5, 6, 7, 12, 17, 31}) {
    EXPECT_LE(TimeOf("recursive_doubling", InBlocks(world, 1)), Log2(world) + 3) << world;
    for (const Plan& plan : PlansOf("recursive_doubling", InBlocks(world, 1))) {
      EXPECT_LE(MessagesSent(plan), Log2(world) + 1);
    }
  }
}

TEST(HalvingDoublingCostTest, HalvesThenDoublesTheMessages) {
  for (const int world : kPowers) {
    std::vector<int> expected;
    for (int length = world / 2; length >= 1; length /= 2) expected.push_back(length);
    for (int length = 1; length <= world / 2; length *= 2) expected.push_back(length);
    for (const Plan& plan : PlansOf("halving_doubling", InBlocks(world, 1))) {
      EXPECT_EQ(plan.parts, world);
      EXPECT_EQ(MessagesOf(plan), expected);
    }
    EXPECT_EQ(TimeOf("halving_doubling", InBlocks(world, 1)), 2 * Log2(world));
  }
}

TEST(HalvingDoublingCostTest, OtherWorldsTakeTwoStepsMore) {
  for (const int world : {3, 5, 6, 7, 12, 17, 31}) {
    EXPECT_EQ(TimeOf("halving_doubling", InBlocks(world, 1)), 2 * Log2(world) + 2) << world;
    for (const Plan& plan : PlansOf("halving_doubling", InBlocks(world, 1))) {
      EXPECT_LE(PartsSent(plan), 3 * plan.parts - 2);
    }
  }
}

TEST(HalvingDoublingCostTest, LongestMessagesStayInTheNode) {
  const Topology topology = Dealt(16, 4);  // 4 ranks per node
  for (int r = 0; r < 16; ++r) {
    const Plan plan = PlanOf("halving_doubling", r, topology);
    for (const PlanStep& step : plan.steps) {
      const bool inside = topology.node[step.send_to] == topology.node[r];
      EXPECT_EQ(inside, step.send.end - step.send.begin >= 4);
    }
  }
}

TEST(TorusCostTest, RowsCarrySharesOfARowAndColumnsShareThemOut) {
  for (const auto& [nodes, per_node] :
       {std::pair(2, 2), std::pair(4, 8), std::pair(3, 5), std::pair(2, 8), std::pair(8, 2)}) {
    const int world = nodes * per_node;
    std::vector<int> expected(per_node - 1, nodes);
    expected.insert(expected.end(), 2 * (nodes - 1), 1);
    expected.insert(expected.end(), per_node - 1, nodes);
    const Topology topology = Dealt(world, nodes);
    const std::vector<Plan> plans = PlansOf("torus", topology);
    for (const Plan& plan : plans) {
      EXPECT_EQ(plan.parts, world);
      EXPECT_EQ(MessagesOf(plan), expected);
      EXPECT_EQ(PartsSent(plan), 2 * (world - 1));  // as few as in a ring
    }
    EXPECT_EQ(TimeOf("torus", topology), 2 * (nodes + per_node - 2));
    EXPECT_EQ(PartsBetweenNodes(plans, topology), world * 2 * (nodes - 1));
  }
}

TEST(TorusCostTest, AsSquareAsCanBeWithoutEqualNodes) {
  EXPECT_EQ(TimeOf("torus", InBlocks(12, 1)), 2 * (3 + 4 - 2));
  EXPECT_EQ(TimeOf("torus", InBlocks(12, 12)), 2 * (3 + 4 - 2));
  EXPECT_EQ(TimeOf("torus", Unequal(64)), 2 * (8 + 8 - 2));
}

TEST(DoubleTreeCostTest, ARankSendsAtMostTheVectorTwice) {
  for (int world = 2; world <= 64; ++world) {
    int sent = 0;
    for (const Plan& plan : PlansOf("double_tree", InBlocks(world, 4))) {
      EXPECT_EQ(plan.parts, 2);
      EXPECT_LE(PartsSent(plan), 4) << world;
      sent += PartsSent(plan);
    }
    // Up and down every edge of both trees.
    EXPECT_EQ(sent, 4 * (world - 1));
  }
}

TEST(DoubleTreeCostTest, NoRankHasChildrenInBothTrees) {
  for (int world = 2; world <= 64; ++world) {
    for (int r = 0; r < world; ++r) {
      bool has_children[2] = {false, false};
      for (const PlanStep& step : PlanOf("double_tree", r, InBlocks(world, 1)).steps) {
        if (step.reduce) has_children[step.receive.begin] = true;
      }
      EXPECT_FALSE(has_children[0] && has_children[1]) << r << " of " << world;
    }
  }
}

TEST(DoubleTreeCostTest, TimeGrowsWithTheLogarithm) {
  // Up and down log2 levels; a rank takes the messages of two children one after the other.
  for (int world = 2; world <= 64; ++world) {
    EXPECT_LE(TimeOf("double_tree", InBlocks(world, 1)), 4 * Log2(world) + 2) << world;
  }
}

TEST(HierarchicalCostTest, OneRankOfEachNodeTalksToOtherNodes) {
  for (const auto& [nodes, per_node] : {std::pair(2, 4), std::pair(5, 3), std::pair(8, 8)}) {
    const Topology topology = Dealt(nodes * per_node, nodes);
    const std::vector<Plan> plans = PlansOf("hierarchical", topology);
    EXPECT_EQ(plans[0].parts, nodes);
    EXPECT_EQ(PartsBetweenNodes(plans, topology), nodes * 2 * (nodes - 1));
    const int levels = per_node == 3 ? 2 : Log2(per_node);
    EXPECT_EQ(TimeOf("hierarchical", topology), 2 * levels + 2 * (nodes - 1));
    // The first rank's sends: the ring's and one down every level of the tree.
    EXPECT_EQ(PartsSent(plans[0]), 2 * (nodes - 1) + levels * nodes);
  }
}

TEST(NodeCostTest, BytesOutOfANode) {
  for (const auto& [nodes, per_node] : {std::pair(2, 4), std::pair(4, 4), std::pair(8, 8)}) {
    const int world = nodes * per_node;
    const Topology topology = Dealt(world, nodes);
    EXPECT_EQ(PartsBetweenNodes(PlansOf("recursive_doubling", topology), topology),
              world * Log2(nodes));
    EXPECT_EQ(PartsBetweenNodes(PlansOf("halving_doubling", topology), topology),
              2 * world * (nodes - 1));
    std::vector<Plan> trees = PlansOf("double_tree", topology);
    for (int node = 0; node < nodes; ++node) {
      std::vector<Plan> of_node(world);
      for (int r = node; r < world; r += nodes) of_node[r] = trees[r];
      EXPECT_LE(PartsBetweenNodes(of_node, topology), 3 * 2) << node << " of " << nodes;
    }
  }
}

}  // namespace
}  // namespace gf
