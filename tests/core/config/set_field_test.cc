#include <gtest/gtest.h>

#include "core/config/config.h"
#include "core/config/meant_setting.h"
#include "core/error.h"

namespace gf {
namespace {

JobConfig Set(const std::string& assignment) {
  JobConfig config;
  SetField(assignment, &config);
  return config;
}

std::string Error(const std::string& assignment) {
  try {
    Set(assignment);
  } catch (const UserError& e) {
    return e.what();
  }
  return "no error";
}

TEST(SetFieldTest, NamesOfOtherProgramsLeadToTheSetting) {
  EXPECT_EQ(Error("solver.lr=1"),
            "--set solver.lr=1: solver: SolverConfig has no field \"lr\"; did you mean base_lr?");
  EXPECT_NE(Error("validation_data.num_workers=4").find("did you mean workers?"),
            std::string::npos);
  NetParameter net;
  EXPECT_EQ(MeantField(net.GetDescriptor(), "epochs"), "");
  EXPECT_EQ(Error("momentum=1"),
            "--set momentum=1: JobConfig has no field \"momentum\"; did you mean "
            "solver.momentum?");
  for (const char* name : {"arch", "dtype", "epochs", "iterations", "learning_rate", "lr", "model",
                           "num_classes", "num_epochs", "num_workers", "optim", "optimizer",
                           "precision", "wd", "batch_size", "keep_last_step"}) {
    const std::string setting = MeantSetting(name);
    EXPECT_EQ(Error(setting + "=").find("no field"), std::string::npos) << name << setting;
    EXPECT_NE(setting, "") << name;
  }
  EXPECT_EQ(MeantSetting("lr_mult"), "");  // of a repeated block
}

TEST(SetFieldTest, SetsEveryScalarType) {
  EXPECT_EQ(Set("name=a job").name(), "a job");
  EXPECT_EQ(Set("name=\"quoted\"").name(), "quoted");
  EXPECT_EQ(Set("checkpoint.dir=a=b").checkpoint().dir(), "a=b");
  EXPECT_EQ(Set("threads=2").threads(), 2);
  EXPECT_EQ(Set("seed=18446744073709551615").seed(), UINT64_MAX);
  EXPECT_EQ(Set("solver.max_steps=5000000000").solver().max_steps(), 5000000000);
  EXPECT_EQ(Set("solver.base_lr = 1e-3").solver().base_lr(), 1e-3f);
  EXPECT_EQ(Set("comm.timeout_s=+2.5").comm().timeout_s(), 2.5);
  EXPECT_EQ(Set("compute_type=BF16").compute_type(), BF16);
  EXPECT_EQ(Set("solver.lr_policy=COSINE").solver().lr_policy(), SolverConfig::COSINE);
}

TEST(SetFieldTest, BooleansAreTrueFalseOneOrZero) {
  EXPECT_TRUE(Set("train_data.mirror=true").train_data().mirror());
  EXPECT_TRUE(Set("train_data.mirror=1").train_data().mirror());
  EXPECT_FALSE(Set("train_data.shuffle=false").train_data().shuffle());
  EXPECT_FALSE(Set("train_data.shuffle=0").train_data().shuffle());
  EXPECT_EQ(Error("train_data.mirror=yes"),
            "--set train_data.mirror=yes: train_data.mirror: \"yes\" is not true or false");
}

TEST(SetFieldTest, AListReplacesWhatWasThere) {
  JobConfig config;
  config.mutable_train_data()->add_mean(9);
  SetField("train_data.mean=1.5,2,-3", &config);
  ASSERT_EQ(config.train_data().mean_size(), 3);
  EXPECT_EQ(config.train_data().mean(0), 1.5f);
  EXPECT_EQ(config.train_data().mean(2), -3);
  SetField("train_data.mean=", &config);
  EXPECT_EQ(config.train_data().mean_size(), 0);
}

TEST(SetFieldTest, WithoutAValueABlockIsRemoved) {
  JobConfig config;
  config.mutable_validation_data()->set_source("val");
  config.mutable_comm()->mutable_sparse()->set_density(0.5f);
  config.mutable_solver()->add_rule()->set_lr_mult(2);
  for (const char* assignment : {"validation_data=", "comm.sparse= ", "solver.rule="}) {
    SetField(assignment, &config);
  }
  EXPECT_FALSE(config.has_validation_data());
  EXPECT_TRUE(config.has_comm());
  EXPECT_FALSE(config.comm().has_sparse());
  EXPECT_EQ(config.solver().rule_size(), 0);
  SetField("validation_data.source=again", &config);
  EXPECT_EQ(config.validation_data().source(), "again");
}

TEST(SetFieldTest, OneElementIsReachedByItsIndex) {
  NetParameter net;
  net.add_layer()->set_name("a");
  net.add_layer()->set_name("b");
  SetField("layer[1].inner_product_param.num_output=7", &net);
  EXPECT_EQ(net.layer(1).inner_product_param().num_output(), 7u);
  EXPECT_FALSE(net.layer(0).has_inner_product_param());
  SetField("layer[0].name=c", &net);
  EXPECT_EQ(net.layer(0).name(), "c");
  net.mutable_layer(0)->add_loss_weight(1);
  SetField("layer[0].loss_weight[0]=0.3", &net);
  EXPECT_EQ(net.layer(0).loss_weight(0), 0.3f);
  EXPECT_THROW(SetField("layer[3].name=x", &net), UserError);
  EXPECT_THROW(SetField("layer[-1].name=x", &net), UserError);
  EXPECT_THROW(SetField("layer[1.name=x", &net), UserError);
  EXPECT_THROW(SetField("layer[].name=x", &net), UserError);
  EXPECT_THROW(SetField("layer.name=x", &net), UserError);
}

TEST(SetFieldTest, MisspeltNamesGetASuggestion) {
  EXPECT_EQ(Error("solver.base_lrr=1"),
            "--set solver.base_lrr=1: solver: SolverConfig has no field \"base_lrr\"; did you mean "
            "\"base_lr\"?");
  EXPECT_EQ(Error("sovler.base_lr=1")
                .find("--set sovler.base_lr=1: JobConfig has no field \"sovler\"; did you mean "
                      "\"solver\"?"),
            0u);
  EXPECT_NE(Error("compute_type=FP8").find("(one of FP32, BF16, FP16)"), std::string::npos);
}

TEST(SetFieldTest, ValuesThatDoNotFitNamePathAndValue) {
  EXPECT_EQ(Error("threads=2x"), "--set threads=2x: threads: \"2x\" is not a 32-bit integer");
  EXPECT_EQ(
      Error("threads=3000000000"),
      "--set threads=3000000000: threads: 3000000000 is out of the range of a 32-bit integer");
  EXPECT_NE(Error("seed=-1").find("not an unsigned 64-bit integer"), std::string::npos);
  EXPECT_NE(Error("solver.base_lr=1e99").find("out of the range"), std::string::npos);
  EXPECT_NE(Error("solver.base_lr=").find("not a number"), std::string::npos);
  EXPECT_NE(Error("train_data.mean=1,,2").find("\"\" is not a number"), std::string::npos);
}

TEST(SetFieldTest, AssignmentsThatAreNoneAreExplained) {
  EXPECT_NE(Error("threads").find("write path.to.field=value"), std::string::npos);
  EXPECT_NE(Error("=3").find("write path.to.field=value"), std::string::npos);
  EXPECT_NE(Error("solver=1").find("solver is a block"), std::string::npos);
  EXPECT_NE(Error("threads.x=1").find("threads has no fields of its own"), std::string::npos);
  EXPECT_NE(Error("threads[0]=1").find("not repeated"), std::string::npos);
  EXPECT_NE(Error("solver..x=1"), "no error");
}

}  // namespace
}  // namespace gf
