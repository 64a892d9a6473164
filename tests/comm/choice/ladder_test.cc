#include "comm/choice/ladder.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "core/config/job_checks.h"
#include "core/error.h"

namespace gf {
namespace {

PoolLayout LayoutOf(const Shape& shape) {
  PoolLayout layout;
  PoolEntry entry;
  entry.name = "fc.weight";
  entry.shape = shape;
  layout.Add(entry);
  return layout;
}

// The obstacles by name, of those that have one.
std::map<std::string, std::string> Obstacles(const LadderJob& job) {
  std::map<std::string, std::string> obstacles;
  for (const Rung& rung : LadderOf({}, job)) {
    if (!rung.obstacle.empty()) obstacles[rung.name] = rung.obstacle;
  }
  return obstacles;
}

TEST(LadderTest, RungsAreValidConfigsOfTheJob) {
  const PoolLayout layout = LayoutOf({2048, 2048});
  CommConfig automatic;
  automatic.set_mode(CommConfig::AUTO);
  automatic.mutable_auto_()->set_exposed(0.1);
  automatic.mutable_sparse()->set_warmup_fraction(0.2);
  automatic.set_threshold_middle(123456);
  std::set<std::string> configs;
  std::vector<std::string> names;
  for (const Rung& rung : LadderOf(automatic, {layout})) {
    EXPECT_EQ(rung.obstacle, "") << rung.name;
    EXPECT_NO_THROW(CheckComm(rung.config)) << rung.name;
    EXPECT_NE(rung.config.mode(), CommConfig::AUTO) << rung.name;
    EXPECT_FALSE(rung.config.has_auto_()) << rung.name;
    EXPECT_EQ(rung.config.threshold_middle(), 123456) << rung.name;
    EXPECT_EQ(rung.config.sparse().warmup_fraction(), 0.2) << rung.name;
    EXPECT_TRUE(configs.insert(rung.config.ShortDebugString()).second) << rung.name;
    names.push_back(rung.name);
  }
  EXPECT_EQ(names, RungNames());
  EXPECT_EQ(names.front(), "LAZY FP32");
  EXPECT_EQ(names.back(), "TOPK 0.001");
}

TEST(LadderTest, WhatDoesNotGoWithTheJobIsLeftOut) {
  const PoolLayout large = LayoutOf({2048, 2048});
  EXPECT_TRUE(Obstacles({large}).empty());
  std::map<std::string, std::string> obstacles = Obstacles({large, DType::kFP32, "LARS"});
  EXPECT_EQ(obstacles.at("TOPK 0.01"), "needs solver.type SGD, got LARS");
  EXPECT_EQ(obstacles.size(), 2u) << "of TOPK";
  obstacles = Obstacles({large, DType::kFP32, "AdamW"});
  EXPECT_EQ(obstacles.at("SPARSE 0.15"), "AdamW would take sums of several steps for one gradient");
  EXPECT_EQ(obstacles.size(), 6u) << "four of SPARSE, two of TOPK";

  obstacles = Obstacles({large, DType::kBF16});
  EXPECT_EQ(obstacles, (std::map<std::string, std::string>{{"LAZY FP32", "gradients are BF16"}}));

  obstacles = Obstacles({large, DType::kFP32, "SGD", 128});
  EXPECT_EQ(obstacles.at("TOPK 0.01"), "messages of 128 ranks are longer than all gradients");
  EXPECT_EQ(obstacles.count("TOPK 0.001"), 0u);

  const PoolLayout small = LayoutOf({100});
  obstacles = Obstacles({small});
  EXPECT_EQ(obstacles.at("QUANTIZED 8"), "the net has no weight of 4,096 elements");
  EXPECT_EQ(obstacles.at("LOW_RANK 1"), "no weight becomes half as long as factors");
  EXPECT_EQ(obstacles.at("SPARSE 0.3"), "too few chunks: 1 of comm.sparse.chunk_size 32,000");
  EXPECT_EQ(obstacles.count("LAZY FP32") + obstacles.count("LAZY BF16"), 0u);
}

TEST(LadderTest, WhatAutoChoosesCannotBeSet) {
  const auto error = [](void (*set)(CommConfig*)) -> std::string {
    CommConfig comm;
    comm.set_mode(CommConfig::AUTO);
    set(&comm);
    try {
      CheckComm(comm, "comm");
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error([](CommConfig*) {}), "");
  EXPECT_EQ(error([](CommConfig* c) { c->set_wire_type(CommConfig::BF16); }),
            "comm.wire_type does not go with comm.mode AUTO, which chooses it: remove it, or set a "
            "mode");
  EXPECT_NE(error([](CommConfig* c) { c->mutable_topk()->set_density(0.1); }), "");
  EXPECT_NE(error([](CommConfig* c) { c->mutable_sparse()->set_density(0.1); }), "");
  EXPECT_NE(error([](CommConfig* c) { c->mutable_low_rank()->set_rank(2); }), "");
  EXPECT_NE(error([](CommConfig* c) { c->mutable_quantized()->set_bits(4); }), "");
  EXPECT_NE(error([](CommConfig* c) { c->mutable_quantized()->set_rotate(true); }), "");
  EXPECT_NE(error([](CommConfig* c) { c->set_sharded_update(true); }), "");
  EXPECT_NE(error([](CommConfig* c) { c->set_threshold_auto(true); }), "");
  EXPECT_NE(error([](CommConfig* c) { c->set_error_feedback(true); }), "");
  EXPECT_EQ(error([](CommConfig* c) { c->mutable_auto_()->set_slower(-1); }),
            "comm.auto.slower is -1, must be at least 0");
  EXPECT_EQ(error([](CommConfig* c) { c->mutable_auto_()->set_exposed(1.5); }),
            "comm.auto.exposed is 1.5, must be at most 1");
}

TEST(LadderTest, OnlyDefaultThresholdsAreReplaced) {
  CommConfig config;
  const std::vector<int> powers = ThresholdPowers(config);
  ASSERT_GT(powers.size(), 1u);
  EXPECT_EQ(powers[0], 0);
  const CommConfig smaller = WithThresholds(config, -2);
  EXPECT_EQ(smaller.threshold_first(), config.threshold_first() / 16);
  EXPECT_EQ(smaller.threshold_middle(), config.threshold_middle() / 16);
  EXPECT_EQ(smaller.threshold_last(), config.threshold_last() / 16);
  EXPECT_EQ(WithThresholds(config, 1).threshold_middle(), config.threshold_middle() * 4);
  EXPECT_FALSE(WithThresholds(config, 0).has_threshold_first());
  config.set_threshold_last(5);
  EXPECT_EQ(ThresholdPowers(config), std::vector<int>{0});
}

}  // namespace
}  // namespace gf
