#include "core/config/places.h"

#include <gtest/gtest.h>

#include "core/config/config.h"
#include "core/config/text_proto.h"

namespace gf {
namespace {

class PlacesTest : public testing::Test {
 protected:
  PlacesTest() {
    google::protobuf::TextFormat::ParseInfoTree locations;
    ParseTextProto("net: 'n'\nsolver {\n  step_value: [3,\n 4]\n}\ntrain_data { mean: 1 mean: 2 }",
                   "job", &config_, &locations);
    places_ = Places("job", config_, locations);
  }

  void Set(const std::string& assignment) {
    places_.NoteSet(SetField(assignment, &config_), assignment);
  }

  JobConfig config_;
  Places places_;
};

TEST_F(PlacesTest, AFieldOfTheTextHasLineAndColumn) {
  EXPECT_EQ(places_.Before("net"), "job:1:1: ");
  EXPECT_EQ(places_.Before("solver"), "job:2:1: ");
  EXPECT_EQ(places_.Before("train_data.mean[0]"), "job:6:14: ");
  EXPECT_EQ(places_.Before("train_data.mean[1]"), "job:6:22: ");
  EXPECT_EQ(places_.Before("train_data.mean"), "job:6:14: ");
  // A list in brackets is one field of the text.
  EXPECT_EQ(places_.Before("solver.step_value[1]"), "job:3:3: ");
}

TEST_F(PlacesTest, ADefaultHasNone) {
  EXPECT_EQ(places_.Before("threads"), "");
  EXPECT_EQ(places_.Before("solver.momentum"), "");
  EXPECT_FALSE(places_.IsSet("threads"));
}

TEST_F(PlacesTest, SetTakesTheTextsPlace) {
  Set("net=m");
  EXPECT_EQ(places_.Before("net"), "--set net=m: ");
  EXPECT_TRUE(places_.IsSet("net"));
  EXPECT_FALSE(places_.IsSet("solver"));
  Set("train_data.mean=7,8,9");
  EXPECT_EQ(places_.Before("train_data.mean[0]"), "--set train_data.mean=7,8,9: ");
  EXPECT_EQ(places_.Before("train_data.mean[2]"), "--set train_data.mean=7,8,9: ");
  EXPECT_EQ(places_.Before("train_data"), "job:6:1: ");
}

TEST_F(PlacesTest, SetOfOneElementLeavesTheOthers) {
  Set("train_data.mean[01]=5");
  EXPECT_EQ(places_.Before("train_data.mean[1]"), "--set train_data.mean[01]=5: ");
  EXPECT_EQ(places_.Before("train_data.mean[0]"), "job:6:14: ");
}

TEST_F(PlacesTest, WhatIsMissingIsLookedForInTheBlockThatShouldHoldIt) {
  EXPECT_EQ(places_.BeforeMissing("solver.base_lr"), "job:2:1: ");
  EXPECT_EQ(places_.BeforeMissing("solver.loss_scale.scale"), "job:2:1: ");
  EXPECT_EQ(places_.BeforeMissing("comm.timeout_s"), "job: ");
  Set("init[0].pattern=*");
  EXPECT_EQ(places_.BeforeMissing("init[0].filler"), "--set init[0].pattern=*: ");
  EXPECT_EQ(Places().BeforeMissing("net"), "");
}

}  // namespace
}  // namespace gf
