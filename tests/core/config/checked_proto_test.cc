#include "core/config/checked_proto.h"

#include <gtest/gtest.h>

#include "core/config/job.pb.h"

namespace gf {
namespace {

TEST(FieldRuleTest, EndsAreOpenOrClosed) {
  EXPECT_EQ(MoreThan(0).Wrong(0.0), "greater than 0");
  EXPECT_EQ(MoreThan(0).Wrong(1e-30), "");
  EXPECT_EQ(AtLeast(2).Wrong(1.5), "at least 2");
  EXPECT_EQ(AtLeast(2).Wrong(2.0), "");
  EXPECT_EQ(AtLeast(0).LessThan(1).Wrong(1.0), "less than 1");
  EXPECT_EQ(AtLeast(0).LessThan(1).Wrong(0.999), "");
  EXPECT_EQ(Between(-1, 16777216).Wrong(16777217.0), "at most 16777216");
  EXPECT_EQ(Between(-1, 0.5).Wrong(-2.0), "at least -1");
  EXPECT_EQ(Between(-1, 0.5).Wrong(0.5), "");
  EXPECT_EQ(FieldRule().Wrong(1e300), "");
}

TEST(FieldRuleTest, OnlySomeValues) {
  EXPECT_EQ(OneOf({"auto", "nccl", "host"}).Wrong("tcp"), "auto, nccl or host");
  EXPECT_EQ(OneOf({"auto", "nccl", "host"}).Wrong("nccl"), "");
  EXPECT_EQ(OneOf({"1", "3"}).Wrong(2.0), "1 or 3");
  EXPECT_EQ(OneOf({"1", "3"}).Wrong(3.0), "");
}

class CheckFieldsTest : public testing::Test {
 protected:
  std::string Error(const std::string& text, const FieldRules& rules) {
    JobConfig config;
    try {
      ParseChecked(text, "job", rules, &config);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(CheckFieldsTest, EveryTypeOfNumberIsChecked) {
  EXPECT_EQ(Error("threads: -1", {{"JobConfig.threads", AtLeast(0)}}),
            "job:1:1: threads is -1, must be at least 0");
  EXPECT_EQ(Error("train_data { images: -5000000000 }", {{"DataConfig.images", AtLeast(0)}}),
            "job:1:14: train_data.images is -5000000000, must be at least 0");
  EXPECT_EQ(Error("solver { gamma: 0.25 }", {{"SolverConfig.gamma", AtLeast(0.5)}}),
            "job:1:10: solver.gamma is 0.25, must be at least 0.5");
  EXPECT_EQ(Error("comm { timeout_s: 0 }", {{"CommConfig.timeout_s", MoreThan(0)}}),
            "job:1:8: comm.timeout_s is 0, must be greater than 0");
}

TEST_F(CheckFieldsTest, ADefaultIsNotChecked) {
  EXPECT_EQ(Error("comm { }", {{"CommConfig.timeout_s", AtLeast(1000)}}), "");
}

TEST_F(CheckFieldsTest, NumbersMustBeFiniteEvenWithoutARule) {
  EXPECT_EQ(Error("solver { gamma: nan }", {}),
            "job:1:10: solver.gamma is nan, must be a finite number");
  EXPECT_EQ(Error("train_data { mean: [0, inf] }", {}),
            "job:1:14: train_data.mean[1] is inf, must be a finite number");
  EXPECT_EQ(Error("solver { rule { lr_mult: -inf } }", {}),
            "job:1:17: solver.rule[0].lr_mult is -inf, must be a finite number");
}

TEST_F(CheckFieldsTest, AShortListOfTextsSpeaksForItself) {
  EXPECT_EQ(Error("device: 'cudo'", {{"JobConfig.device", OneOf({"cpu", "cuda"})}}),
            "job:1:1: device is \"cudo\", must be cpu or cuda");
}

TEST_F(CheckFieldsTest, TextsAreQuotedAndAdviceComesLast) {
  EXPECT_EQ(Error("device: 'gpu'", {{"JobConfig.device", OneOf({"cpu", "cuda"}).Advice("choose")}}),
            "job:1:1: device is \"gpu\", must be cpu or cuda: choose");
}

TEST_F(CheckFieldsTest, TheNearestOfManyTextsIsNamed) {
  EXPECT_EQ(
      Error("device: 'rink'", {{"JobConfig.device", OneOf({"auto", "mpi", "ring", "torus"})}}),
      "job:1:1: device is \"rink\", must be auto, mpi, ring or torus; did you mean \"ring\"?");
}

TEST_F(CheckFieldsTest, RequiredFieldsMustBeThereAndTextsMustSaySomething) {
  const FieldRules rules = {{"JobConfig.net", Required().Advice("name it")},
                            {"SolverConfig.base_lr", Required()},
                            {"SolverConfig.step_value", Required()}};
  EXPECT_EQ(Error("seed: 2", rules), "job: net is missing: name it");
  EXPECT_EQ(Error("net: ''", rules), "job:1:1: net is missing: name it");
  EXPECT_EQ(Error("net: 'n'", rules), "") << "what is required of a block that is not there";
  EXPECT_EQ(Error("net: 'n' solver { }", rules),
            "job:1:10: solver.base_lr is missing; solver.step_value is missing")
      << "all that a block lacks at once";
  EXPECT_EQ(Error("net: 'n' solver { base_lr: 1 }", rules),
            "job:1:10: solver.step_value is missing");
}

TEST(MistakeReportTest, OfTwoFieldsTheOneFromSetIsNamed) {
  Places places;
  const auto error = [&] {
    try {
      MistakeReport(places, "solver").RefuseBoth(true, "max_steps", "max_epochs");
    } catch (const UserError& mistake) {
      return std::string(mistake.what());
    }
    return std::string();
  };
  EXPECT_EQ(error(), "solver.max_steps does not go with max_epochs: give one of them");
  places.NoteSet("solver.max_epochs", "solver.max_epochs=2");
  EXPECT_EQ(error(),
            "--set solver.max_epochs=2: solver.max_epochs does not go with max_steps: give one of "
            "them");
  places.NoteSet("solver.max_steps", "solver.max_steps=3");
  EXPECT_EQ(error(),
            "--set solver.max_steps=3: solver.max_steps does not go with max_epochs: give one of "
            "them");
}

}  // namespace
}  // namespace gf
