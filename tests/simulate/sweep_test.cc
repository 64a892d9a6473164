// Many simulated jobs, and what is made of one.

#include "simulate/sweep.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "simulate/suggest.h"
#include "simulate/trace.h"
#include "tests/simulate/job_for_test.h"

namespace gf {
namespace {

TEST(SweepTest, RangesDoubleAndEndWithTheLast) {
  EXPECT_EQ(ParseSweep("ranks=1..12")[0].values,
            (std::vector<std::string>{"1", "2", "4", "8", "12"}));
  EXPECT_EQ(ParseSweep("theta=64K,1M")[0].values, (std::vector<std::string>{"65536", "1048576"}));
  EXPECT_EQ(ParseSweep("mode=LAZY,SPARSE")[0].field, "comm.mode");
  EXPECT_EQ(ParseSweep("ranks=1..8 sparse.density=0.1,0.2").size(), 2u);
}

TEST(SweepTest, InvalidSweepsAreMistakes) {
  for (const char* text :
       {"", "ranks", "ranks=", "=3", "ranks=0", "ranks=1.5", "ranks=a..b", "ranks=8..1",
        "ranks=1,,2", "ranks=99999999", "a=1 b=2 c=3", "sparse.density=0.0000001..1e14",
        "ranks=-1..4", "ranks=1 mode=LAZY sparse.density=1 theta=1 nic=1gbit", "nic=25", "nic=gbit",
        "nic=1e9gbit", "nic=-1gbit", "uplink=nangbit"}) {
    EXPECT_THROW(ParseSweep(text), UserError) << text;
  }
}

TEST(SweepTest, ChangesFieldsOfTheConfig) {
  const auto axes = ParseSweep("comm.sparse.density=0.1,0.5 mode=LAZY,SPARSE");
  const auto points = RunSweep(Job(), axes);
  ASSERT_EQ(points.size(), 4u);
  EXPECT_EQ(points[0].run.sent_bytes, points[1].run.sent_bytes);      // LAZY
  EXPECT_LT(4 * points[2].run.sent_bytes, points[3].run.sent_bytes);  // SPARSE
}

std::string ErrorOfSweep(const std::string& text) {
  try {
    ParseSweep(text);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(SweepTest, FieldsAreNamedByTheEndOfTheirPath) {
  EXPECT_EQ(ParseSweep("sparse.density=0.1")[0].field, "comm.sparse.density");
  EXPECT_EQ(ParseSweep("topk.density=0.1")[0].field, "comm.topk.density");
  EXPECT_EQ(ParseSweep("sparse.density=0.1")[0].field, "comm.sparse.density");
  EXPECT_EQ(ParseSweep("batch_size=64")[0].field, "train_data.batch_size");
  EXPECT_EQ(ParseSweep("threshold=1M")[0].kind, SweepAxis::Kind::kTheta);
  EXPECT_EQ(ParseSweep("threshold_last=1M")[0].field, "comm.threshold_last");
  EXPECT_EQ(ParseSweep("max_epochs=1")[0].field, "solver.max_epochs");
  EXPECT_TRUE(HoldsBytes(ParseSweep("theta=1M")[0]));
  EXPECT_TRUE(HoldsBytes(ParseSweep("threshold_last=1M")[0]));
  EXPECT_FALSE(HoldsBytes(ParseSweep("ranks=4")[0]));
}

TEST(SweepTest, AmbiguousAndMisspelledNamesAreMistakes) {
  const std::string ambiguous = ErrorOfSweep("crop_size=224");
  EXPECT_NE(ambiguous.find("train_data.crop_size, validation_data.crop_size"), std::string::npos)
      << ambiguous;
  EXPECT_NE(ErrorOfSweep("modee=LAZY").find("did you mean \"mode\"?"), std::string::npos);
  EXPECT_NE(ErrorOfSweep("uplnk=1gbit").find("did you mean \"uplink\"?"), std::string::npos);
  EXPECT_NE(ErrorOfSweep("nic=25").find("25gbit"), std::string::npos);
}

TEST(SweepTest, LinksAreVaried) {
  SimulatedJob job = Job();
  const auto set = [&](const std::string& text) {
    const SweepAxis axis = ParseSweep(text)[0];
    ApplyValue(axis, axis.values[0], &job);
  };
  job.cluster.mutable_node()->mutable_nic()->set_background_gb_s(0.5);
  set("nic=25gbit");
  EXPECT_DOUBLE_EQ(job.cluster.node().nic().gb_s(), 3.125);
  EXPECT_THROW(set("nic=4gbit"), UserError);  // no more than the background
  set("nic=8000Mbit/s");
  EXPECT_DOUBLE_EQ(job.cluster.node().nic().gb_s(), 1);
  set("device_link=10gb_s");
  EXPECT_DOUBLE_EQ(job.cluster.node().device_link().gb_s(), 10);
  job.cluster.mutable_fabric()->clear_uplink();
  EXPECT_THROW(set("uplink=25gbit"), UserError);

  job = Job();
  job.ranks = 64;
  job.steps = 1;
  const auto axes = ParseSweep("nic=20gbit,100gbit theta=1M,16M mode=LAZY,SPARSE");
  const auto points = RunSweep(job, axes);
  ASSERT_EQ(points.size(), 8u);
  EXPECT_EQ(points[1].values, (std::vector<std::string>{"100gbit", "1048576", "LAZY"}));
  EXPECT_LT(2 * points[1].run.step.exposed, points[0].run.step.exposed);
}

TEST(SuggestTest, IsAtLeastAsGoodAsTheConfig) {
  SimulatedJob job = Job({"comm.threshold_first=0", "comm.threshold_middle=0"});
  job.ranks = 64;
  job.steps = 1;
  const auto all = Suggest(job);
  EXPECT_LT(all[0].run.step.total(), Simulator(job).Run().step.total());
  SimulatedJob changed = job;
  for (const std::string& setting : all[0].settings) SetField(setting, &changed.config);
  EXPECT_EQ(Simulator(changed).Run().step.total(), all[0].run.step.total());
}

TEST(SuggestTest, TriesTheShardedUpdateOfSolversWithoutNorms) {
  for (const auto& [type, tries] :
       {std::pair("SGD", true), std::pair("Adam", true), std::pair("LARS", false)}) {
    SimulatedJob job = Job({"comm.mode=LAZY", std::string("solver.type=") + type});
    job.ranks = 8;
    job.steps = 1;
    bool tried = false;
    for (const Suggestion& suggestion : Suggest(job)) {
      for (const std::string& setting : suggestion.settings) {
        tried = tried || setting == "comm.sharded_update=true";
      }
    }
    EXPECT_EQ(tried, tries) << type;
  }
}

TEST(TraceTest, HasTheLanesOfRealRuns) {
  SimulatedJob job = Job();
  job.ranks = 16;
  const std::string json = TraceJson(Simulator(job).Trace(), job.cluster.node(), 2, "profile");
  for (const char* word : {"\"rank 1 (node0)\"", "forward", "backward", "bucket transfer",
                           "bucket wait", "update", "fc8.weight", "\"traceEvents\""}) {
    EXPECT_NE(json.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(json.find("rank 2 "), std::string::npos);
  EXPECT_NE(json.find("\"simulated\":true"), std::string::npos);
}

}  // namespace
}  // namespace gf
