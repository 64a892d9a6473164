#include "simulate/plan_price.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "simulate/cluster.h"
#include "tests/comm/algorithms/plan_simulator.h"

namespace gf {
namespace {

// One device per node, links of 1 GB/s, 10 us per message.
ClusterConfig Flat(const std::string& more = "") {
  return ParseCluster(
      "node { devices: 1 device_link { gb_s: 1000 } nic { gb_s: 1 } }\n"
      "collective { protocol { hop_us: 10 } segment_bytes: 1000000000 }\n"
      "device { memory_gb_s: 500 }\n" +
          more,
      "flat");
}

constexpr int64_t kMega = 1000000;

TEST(PriceTest, RingMatchesItsFormula) {
  for (const int world : {2, 3, 8, 100}) {
    Pricer pricer(Flat(), world);
    const double steps = 2.0 * (world - 1);
    EXPECT_NEAR(pricer.Seconds("ring", 100 * kMega), steps * (10e-6 + 0.1 / world), 1e-9) << world;
  }
}

// Each rank sends a part to every other one: half of an allreduce's bytes.
TEST(PriceTest, AllToAllMatchesItsFormula) {
  for (const int world : {1, 2, 3, 8, 100}) {
    Pricer pricer(Flat(), world);
    const double steps = world - 1;
    EXPECT_NEAR(pricer.Seconds(Pricer::kAllToAll, 100 * kMega), steps * (10e-6 + 0.1 / world), 1e-9)
        << world;
    const PlanPrice& price = pricer.Price(Pricer::kAllToAll);
    EXPECT_NEAR(price.traffic[static_cast<int>(LinkKind::kNic)], steps / world, 1e-12);
    EXPECT_NEAR(price.largest, world == 1 ? 0 : 1.0 / world, 1e-12);
  }
}

// Each of the four devices of a node sends half of its vector to the other node, through one card.
TEST(PriceTest, AllToAllSharesACard) {
  const ClusterConfig cluster = ParseCluster(
      "node { devices: 4 device_link { gb_s: 1000 } nic { gb_s: 1 } }\n"
      "collective { protocol { hop_us: 0 } segment_bytes: 1000000000 }\n"
      "device { memory_gb_s: 500 }\n",
      "four");
  Pricer pricer(cluster, 8);
  EXPECT_NEAR(pricer.Price(Pricer::kAllToAll).traffic[static_cast<int>(LinkKind::kNic)], 4 * 0.5,
              1e-12);
  EXPECT_NEAR(pricer.Seconds(Pricer::kAllToAll, 100 * kMega), 0.1 * (4 * 4) / 8, 1e-3);
}

TEST(PriceTest, HalvingDoublingMatchesItsFormula) {
  Pricer pricer(Flat(), 16);
  EXPECT_NEAR(pricer.Seconds("halving_doubling", 100 * kMega), 8 * 10e-6 + 0.1 * 2 * 15 / 16, 1e-9);
}

TEST(PriceTest, RecursiveDoublingSendsTheWholeVectorEveryTime) {
  Pricer pricer(Flat(), 16);
  EXPECT_NEAR(pricer.Seconds("recursive_doubling", 100 * kMega), 4 * (10e-6 + 0.1), 1e-9);
}

// What a link is shared by adds up: four devices of a node send through one card at once.
TEST(PriceTest, MessagesShareACard) {
  const ClusterConfig cluster = ParseCluster(
      "node { devices: 4 device_link { gb_s: 1000 } nic { gb_s: 1 } }\n"
      "collective { protocol { hop_us: 0 } segment_bytes: 1000000000 }\n"
      "device { memory_gb_s: 500 }\n",
      "four");
  Pricer pricer(cluster, 8);
  // Recursive doubling over 2 nodes: the last of three exchanges leaves the node, by all four.
  const double within = 2 * 0.1 / 1000;
  EXPECT_NEAR(pricer.Seconds("recursive_doubling", 100 * kMega), within + 4 * 0.1, 1e-6);
  EXPECT_NEAR(pricer.Price("recursive_doubling").traffic[static_cast<int>(LinkKind::kNic)], 4,
              1e-12);
  // A ring has one message between the nodes, each way, at a time.
  EXPECT_NEAR(pricer.Seconds("ring", 100 * kMega), 2 * 7 * 0.1 / 8, 1e-3);
}

TEST(PriceTest, ShortVectorsTakeTheirOwnProtocolAndEveryCallItsStart) {
  const ClusterConfig cluster = ParseCluster(
      "node { devices: 1 device_link { gb_s: 1000 } nic { gb_s: 1 } }\n"
      "collective { protocol { up_to_bytes: 100 hop_us: 1 } protocol { hop_us: 10 }\n"
      "             call_us: 7 }\n"
      "device { memory_gb_s: 500 }\n",
      "two");
  Pricer pricer(cluster, 2);
  EXPECT_NEAR(pricer.Seconds("ring", 100), 7e-6 + 2 * 1e-6 + 100e-9, 1e-12);
  EXPECT_NEAR(pricer.Seconds("ring", 101), 7e-6 + 2 * 10e-6 + 101e-9, 1e-12);
}

// The rounds hold the messages of the plans, no more and no less, and as many rounds as the
// symbolic simulation of the same plans takes.
TEST(RoundsTest, HoldEveryMessageOfEveryPlan) {
  for (const std::string& name : AlgorithmRegistry::Get().Keys()) {
    for (const int world : {2, 3, 6, 8, 13, 24}) {
      const Network network(
          ParseCluster("node { devices: 4 device_link { gb_s: 9 } nic { gb_s: 1 } }\n"
                       "collective { protocol { hop_us: 1 } } device { memory_gb_s: 5 }",
                       "n"),
          world);
      const auto algorithm = AlgorithmRegistry::Get().Create("algorithm", name);
      if (!algorithm->Fits(network.topology())) continue;
      std::vector<Plan> plans;
      int64_t parts = 0, sent = 0, rounds = 0;
      for (int r = 0; r < world; ++r) {
        plans.push_back(algorithm->AllReduce(r, network.topology()));
        parts += PartsSent(plans.back());
      }
      const PlanRounds made = RoundsOf([&](int r) { return plans[r]; }, world);
      for (const PlanRound& round : made.rounds) {
        rounds += round.times;
        for (const PlanMessage& message : round.messages) sent += round.times * message.parts;
      }
      EXPECT_EQ(sent, parts) << name << " " << world;
      const Simulation run = Simulate(plans, OwnValues(world, plans[0].parts));
      ASSERT_EQ(run.error, "");
      EXPECT_LE(rounds, run.time) << name << " " << world;
    }
  }
}

TEST(RoundsTest, AllToAllHasARoundPerOtherRank) {
  const PlanRounds made = RoundsOf([](int r) { return AllToAll(r, 5); }, 5);
  ASSERT_EQ(made.rounds.size(), 4u);
  for (const PlanRound& round : made.rounds) {
    EXPECT_EQ(round.times, 1);
    ASSERT_EQ(round.messages.size(), 5u);
    for (const PlanMessage& message : round.messages) {
      EXPECT_EQ(message.parts, 1);
      EXPECT_FALSE(message.reduce);
    }
  }
}

// What repeats is priced once, to the same bits as all ranks' plans.
TEST(PricerTest, RepeatingPlansHaveThePriceOfAll) {
  const ClusterConfig cluster = ParseCluster(
      "node { devices: 4 switches: 2 nics: 1 device_link { gb_s: 9 latency_us: 0.3 }\n"
      "       switch_link { gb_s: 7 latency_us: 0.7 } nic { gb_s: 1.1 latency_us: 1.3 } }\n"
      "fabric { nodes_per_leaf: 3 uplink { gb_s: 0.4 latency_us: 2.1 } }\n"
      "collective { protocol { up_to_bytes: 100 hop_us: 0.1 } protocol { hop_us: 1.7 }\n"
      "             reduce_gb_s: 3.3 }\n"
      "device { memory_gb_s: 5 }",
      "leaves");
  int repeating = 0;
  for (const int world : {1, 2, 3, 4, 8, 12, 13, 20, 24, 36, 60}) {
    Pricer pricer(cluster, world);
    const Network& network = pricer.network();
    repeating += network.Period() < world;
    const auto ring = AlgorithmRegistry::Get().Create("algorithm", "ring");
    const std::vector<std::pair<const char*, std::function<Plan(int)>>> collectives = {
        {Pricer::kAllToAll, [&](int r) { return AllToAll(r, world); }},
        {Pricer::kAllGather, [&](int r) { return RingAllGather(r, world); }},
        {Pricer::kReduceScatter, [&](int r) { return RingReduceScatter(r, world); }},
        {"ring", [&](int r) { return ring->AllReduce(r, network.topology()); }}};
    for (const auto& [name, plan] : collectives) {
      PlanRounds rounds = RoundsOf(plan, world);
      if (name == Pricer::kAllToAll) rounds.parts = world;
      const PlanPrice all = PriceOf(rounds, network, cluster.collective());
      const PlanPrice& price = pricer.Price(name);
      EXPECT_EQ(price.latency_s, all.latency_s) << name << " " << world;
      EXPECT_EQ(price.in_rounds, all.in_rounds) << name << " " << world;
      EXPECT_EQ(price.busy, all.busy) << name << " " << world;
      EXPECT_EQ(price.largest, all.largest) << name << " " << world;
      EXPECT_EQ(price.traffic, all.traffic) << name << " " << world;
    }
  }
  EXPECT_EQ(repeating, 5);  // 8 and 12 within a leaf; 24, 36 and 60 have whole leaves
}

TEST(PricerTest, AutoIsNeverSlowerThanAnyAlgorithm) {
  Pricer pricer(Flat(), 24);
  for (const int64_t bytes : {int64_t{64}, int64_t{20000}, 50 * kMega}) {
    const double best = pricer.Seconds(pricer.Choose("auto", bytes), bytes);
    for (const std::string& name : AlgorithmRegistry::Get().Keys()) {
      if (AlgorithmRegistry::Get().Create("algorithm", name)->Fits(pricer.network().topology())) {
        EXPECT_LE(best, pricer.Seconds(name, bytes)) << name;
      }
    }
  }
}

TEST(PricerTest, AlgorithmsThatDoNotFitAreMistakes) {
  Pricer pricer(Flat(), 4);
  EXPECT_THROW(pricer.Seconds("hierarchical", 100), UserError);
  EXPECT_THROW(pricer.Seconds("rink", 100), UserError);
}

// NCCL's ring on cluster P, as Fig. 8 of arXiv 1902.06855 shows it (GB/s of the vector): without
// what training adds to it.
TEST(PaperNetworkTest, RingMatchesFigure8) {
  ClusterConfig cluster = ReadCluster("configs/clusters/paper_p.prototxt");
  cluster.mutable_node()->mutable_nic()->clear_background_gb_s();
  for (ProtocolConfig& protocol : *cluster.mutable_collective()->mutable_protocol()) {
    protocol.set_hop_us(protocol.hop_us() - 0.6);
  }
  const struct {
    int ranks;
    int64_t kilobytes;
    double gb_s;
  } kPoints[] = {{16, 8192, 3.178},  {16, 524288, 3.398}, {32, 8192, 2.849},   {32, 524288, 3.269},
                 {64, 8192, 2.318},  {64, 524288, 3.264}, {128, 16, 0.03107},  {128, 512, 0.3245},
                 {128, 8192, 1.804}, {128, 65536, 2.727}, {128, 524288, 2.824}};
  for (const auto& point : kPoints) {
    Pricer pricer(cluster, point.ranks);
    const int64_t bytes = point.kilobytes * 1024;
    const double gb_s = static_cast<double>(bytes) / pricer.Seconds("ring", bytes) / 1e9;
    EXPECT_NEAR(gb_s / point.gb_s, 1, 0.15) << point.ranks << " " << point.kilobytes;
  }
}

}  // namespace
}  // namespace gf
