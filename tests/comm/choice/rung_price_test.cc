#include "comm/choice/rung_price.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "comm/choice/ladder.h"
#include "comm/choice/rung_choice.h"
#include "comm/flow/gradient_flow.h"

namespace gf {
namespace {

// Links between 4 ranks: every collective costs a latency and the bytes of a ring.
class Links : public CollectiveCosts {
 public:
  Links(double latency, double bytes_per_s) : latency_(latency), bytes_per_s_(bytes_per_s) {}

  int world() const override { return 4; }
  double Seconds(Kind kind, int64_t bytes) override {
    const double halves = kind == kAllReduce ? 2 : 1;
    return halves * (3 * latency_ + 0.75 * static_cast<double>(bytes) / bytes_per_s_);
  }

 private:
  const double latency_, bytes_per_s_;
};

// 16 weights of 1024 x 1024, 64 MiB of gradients; 0.1 s of forward, then 0.2 s of backward.
struct Job {
  Job() {
    for (int i = 0; i < 16; ++i) {
      PoolEntry entry;
      entry.name = "fc" + std::to_string(i) + ".weight";
      entry.shape = Shape{1024, 1024};
      layout.Add(entry);
      facts.ready.push_back(0.2 * (i + 1) / 16);
    }
    facts.end = facts.end_beside = 0.2;
    facts.outside = 0.1;
    facts.update = 0.002;  // little, so that updating less, as SPARSE does, saves little
  }

  // By figures for these links; `work`: seconds of every compressor.
  ExchangeChoice Choose(Links links, double work = 0.002) const {
    ExchangeChoice choice;
    choice.limit = 0.05;
    choice.slower = 0.05;
    choice.compute = facts.outside + facts.end + facts.update;
    StepSetup setup = SetupOf(facts, layout);
    CommConfig automatic;
    automatic.set_mode(CommConfig::AUTO);
    for (const Rung& rung : LadderOf(automatic, {layout, DType::kFP32, "SGD", 4})) {
      const DType wire = WireTypeOf(rung.config, DType::kFP32);
      setup.wire_bytes = static_cast<int64_t>(SizeOf(wire));
      setup.measured = CompressorSeconds();
      if (rung.config.mode() != CommConfig::LAZY) setup.measured->before = work;
      PricedRung priced;
      priced.name = rung.name;
      PriceRung(setup, ScheduleOf(layout, rung.config, wire, 4, DensityOf(rung.config)), &links,
                &priced);
      choice.rungs.push_back(priced);
    }
    ChooseRung(&choice);
    return choice;
  }

  std::string Name(const Links& links, double work = 0.002) const {
    const ExchangeChoice choice = Choose(links, work);
    return choice.rungs[choice.chosen].name;
  }

  PoolLayout layout;
  StepFacts facts;
};

TEST(RungPriceTest, SlowerLinksTakeStrongerRungs) {
  const Job job;
  EXPECT_EQ(job.Name({1e-6, 10e9}), "LAZY FP32");
  EXPECT_EQ(job.Name({1e-5, 400e6}), "LAZY BF16");
  EXPECT_EQ(job.Name({1e-5, 200e6}), "QUANTIZED 8");
  const std::vector<std::string> names = RungNames();
  size_t before = 0;
  for (const double rate : {10e9, 1e9, 400e6, 200e6, 100e6, 25e6, 12e6}) {
    const std::string name = job.Name({1e-5, rate});
    const size_t at = std::find(names.begin(), names.end(), name) - names.begin();
    EXPECT_GE(at, before) << name << " at " << rate;
    before = at;
  }
  EXPECT_GT(before, 4u);
}

TEST(RungPriceTest, WhereNoRungHidesTheExchangeNoneIsMuchFaster) {
  const Job job;
  const ExchangeChoice choice = job.Choose({10e-3, 1e6});
  const PricedRung& chosen = choice.rungs[choice.chosen];
  EXPECT_GT(chosen.exposed, choice.limit * choice.compute);
  for (const PricedRung& rung : choice.rungs) {
    EXPECT_LE(chosen.step, 1.05 * rung.step) << rung.name;
  }
}

TEST(RungPriceTest, UpdatesThatWaitForAllSumsHideNothing) {
  Job job;
  job.facts.update = 0.05;
  const Links links(1e-5, 200e6);
  const double overlapped = job.Choose(links).rungs[0].step;
  job.facts.update_waits = true;
  const ExchangeChoice waits = job.Choose(links);
  // But for the last bucket's, all updates ran while later buckets travelled.
  EXPECT_NEAR(waits.rungs[0].step, overlapped + 15.0 / 16 * job.facts.update, 1e-3);
}

// Codes are decoded as they arrive, whenever the weights are updated.
TEST(RungPriceTest, DecodingWaitsForNoOtherBucket) {
  Job job;
  job.facts.update = 0;
  const auto step = [&](bool update_waits) {
    job.facts.update_waits = update_waits;
    StepSetup setup = SetupOf(job.facts, job.layout);
    setup.measured = CompressorSeconds();
    setup.measured->after = 0.1;
    CommConfig config;
    config.set_mode(CommConfig::QUANTIZED);
    const BucketSchedule schedule =
        ScheduleOf(job.layout, config, DType::kBF16, 4, DensityOf(config));
    EXPECT_GT(schedule.buckets(), 2);
    Links links(1e-5, 50e6);
    PricedRung rung;
    PriceRung(setup, schedule, &links, &rung);
    return rung.step;
  };
  EXPECT_EQ(step(true), step(false));
}

TEST(RungPriceTest, SmallerBucketsMustBeWorthIt) {
  PricedRung rung;
  rung.step = 0;
  EXPECT_TRUE(IsWorthIt(1, rung)) << "not priced";
  rung.priced = true;
  rung.step = 1;
  EXPECT_FALSE(IsWorthIt(0.995, rung));
  EXPECT_TRUE(IsWorthIt(0.98, rung));
}

TEST(RungPriceTest, SlowArithmeticLeavesLazy) {
  // LAZY exposes more than the limit, but a compressor would take a second.
  const ExchangeChoice choice = Job().Choose({1e-5, 100e6}, 1.0);
  EXPECT_EQ(choice.rungs[choice.chosen].name, "LAZY BF16");
}

TEST(RungPriceTest, StepsAddUp) {
  const Job job;
  const ExchangeChoice choice = job.Choose({0, 1e15});
  EXPECT_NEAR(choice.rungs[0].step, choice.compute, 1e-6);
  EXPECT_EQ(choice.rungs[0].bytes, int64_t{64} << 20);
  EXPECT_EQ(choice.rungs[1].bytes, int64_t{32} << 20);
  for (const PricedRung& rung : choice.rungs) {
    if (rung.name.rfind("SPARSE", 0) == 0) continue;  // updates less
    EXPECT_NEAR(rung.step, choice.compute + rung.arithmetic, 1e-6) << rung.name;
  }
}

TEST(RungPriceTest, ComputeThatCollectivesSlowDownIsPriced) {
  Job job;
  job.facts.end_beside = 0.25;
  const StepSetup setup = SetupOf(job.facts, job.layout);
  EXPECT_NEAR(setup.compute_lost, 0.2, 1e-9);
  EXPECT_GT(job.Choose({1e-5, 1e9}).rungs[0].step, Job().Choose({1e-5, 1e9}).rungs[0].step);
}

TEST(RungPriceTest, LinksAreCorrectedByWhatLazyTook) {
  Job job;
  Links links(1e-5, 100e6);
  CommConfig lazy;
  const BucketSchedule schedule = DenseSchedule(job.layout, lazy, 4);
  double expected = 0;
  for (const Send& send : schedule.sends) {
    expected += links.Seconds(CollectiveCosts::kAllReduce, 4 * send.elements);
  }
  job.facts.transfer = 1.3 * expected;
  EXPECT_NEAR(LinkFactor(job.facts, schedule, 4, &links), 1.3, 1e-9);
  job.facts.transfer = 100 * expected;
  EXPECT_EQ(LinkFactor(job.facts, schedule, 4, &links), 2);
  EXPECT_EQ(LinkFactor(job.facts, BucketSchedule(), 4, &links), 1);
}

}  // namespace
}  // namespace gf
