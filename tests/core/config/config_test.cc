#include "core/config/config.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/error.h"

namespace gf {
namespace {

constexpr char kJob[] = R"(
  net: "nets/lenet.prototxt"
  train_data { source: "data/train-*.tar" channels: 3 mean: [1, 2, 3] std: 4 }
  validation_data { source: "/abs/val" }
  solver { base_lr: 0.1 max_epochs: 2.5 }
  checkpoint { dir: "checkpoints" }
)";

class ConfigTest : public testing::Test {
 protected:
  void SetUp() override {
    file_ = testing::TempDir() + "/job.prototxt";
    std::ofstream(file_) << kJob;
  }

  JobConfig Read(const std::vector<std::string>& overrides = {}) {
    return ReadJobConfig(file_, overrides);
  }

  // The error without the file's name in front.
  std::string Error(const std::vector<std::string>& overrides) {
    try {
      Read(overrides);
    } catch (const UserError& e) {
      const std::string message = e.what();
      EXPECT_EQ(message.find(file_ + ": "), 0u) << message;
      return message.substr(std::min(message.size(), file_.size() + 2));
    }
    return "no error";
  }

  std::string file_;
};

TEST_F(ConfigTest, InputsAreRelativeToTheConfigOutputsToTheWorkingFolder) {
  const JobConfig config = Read();
  EXPECT_EQ(config.net(), testing::TempDir() + "/nets/lenet.prototxt");
  EXPECT_EQ(config.train_data().source(), testing::TempDir() + "/data/train-*.tar");
  EXPECT_EQ(config.validation_data().source(), "/abs/val");
  EXPECT_EQ(config.checkpoint().dir(), "checkpoints");
}

TEST_F(ConfigTest, WithoutValidationDataTheTrainingPathIsResolvedOnce) {
  std::ofstream(file_) << "net: \"n\" train_data { source: \"d\" } "
                          "solver { base_lr: 1 max_steps: 1 }";
  const JobConfig config = Read();
  EXPECT_EQ(config.train_data().source(), testing::TempDir() + "/d");
  EXPECT_FALSE(config.has_validation_data());
}

TEST_F(ConfigTest, OverridesComeAfterTheFileInOrder) {
  const JobConfig config = Read({"solver.base_lr=0.2", "threads=2", "threads=3"});
  EXPECT_EQ(config.solver().base_lr(), 0.2f);
  EXPECT_EQ(config.threads(), 3);
}

TEST_F(ConfigTest, AMissingFieldIsNamed) {
  EXPECT_EQ(Error({"net="}).find("net: missing"), 0u);
  EXPECT_EQ(Error({"train_data.source="}).find("train_data.source: missing"), 0u);
  std::ofstream(file_) << "net: \"n\" train_data { source: \"d\" } solver { max_steps: 1 }";
  EXPECT_EQ(Error({}).find("solver.base_lr: missing"), 0u);
  std::ofstream(file_) << "net: \"n\" train_data { source: \"d\" } solver { base_lr: 1 }";
  EXPECT_EQ(Error({}).find("solver.max_epochs: missing: give max_epochs or max_steps"), 0u);
  std::ofstream(file_) << "net: \"n\" solver { base_lr: 1 max_steps: 2 }";
  EXPECT_EQ(Error({}).find("train_data: missing"), 0u);
}

TEST_F(ConfigTest, TheMessageSaysWhatIsWrongAndWhatWasGot) {
  EXPECT_EQ(Error({"solver.base_lr=-1"}), "solver.base_lr: must be greater than 0, got -1");
  EXPECT_EQ(Error({"train_data.mean=1,2"}),
            "train_data.mean: 1 or 3 values are expected (channels: 3), got 2");
  EXPECT_EQ(Error({"solver.lr_policy=MULTISTEP", "solver.step_value=5,5"}),
            "solver.step_value: must ascend, got 5 after 5");
}

TEST_F(ConfigTest, EveryRangeIsChecked) {
  const std::vector<std::vector<std::string>> wrong = {
      {"solver.base_lr=0"},
      {"solver.base_lr=nan"},
      {"solver.base_lr=inf"},
      {"solver.max_steps=1"},  // besides max_epochs
      {"solver.max_epochs=0"},
      {"solver.momentum=1"},
      {"solver.momentum=-0.1"},
      {"solver.weight_decay=-1"},
      {"solver.iter_size=0"},
      {"solver.warmup_steps=-1"},
      {"solver.warmup_epochs=-1"},
      {"solver.warmup_steps=1", "solver.warmup_epochs=1"},
      {"solver.warmup_lr=-1"},
      {"solver.lr_policy=STEP"},
      {"solver.lr_policy=STEP", "solver.step_size=3", "solver.gamma=0"},
      {"solver.lr_policy=MULTISTEP"},
      {"solver.lr_policy=MULTISTEP", "solver.step_value=0,3"},
      {"solver.lr_policy=MULTISTEP", "solver.step_value=3,2"},
      {"solver.lr_policy=POLY", "solver.power=-1"},
      {"train_data.batch_size=0"},
      {"validation_data.batch_size=-5"},
      {"train_data.workers=-1"},
      {"train_data.prefetch=0"},
      {"train_data.channels=2"},
      {"train_data.std=0"},
      {"train_data.std=1,1"},
      {"train_data.resize_shorter=-1"},
      {"train_data.resize_height=8"},
      {"train_data.resize_height=8", "train_data.resize_width=8", "train_data.resize_shorter=8"},
      {"train_data.pad=-1"},
      {"train_data.crop_size=-1"},
      {"train_data.resize_shorter=32", "train_data.pad=2", "train_data.crop_size=37"},
      {"threads=-1"},
      {"device="},
      {"comm.timeout_s=0"},
      {"checkpoint.keep=-1"},
      {"checkpoint.interval_epochs=-1"},
      {"checkpoint.interval_steps=-1"},
      {"telemetry.display_interval=0"},
      {"validation_interval_epochs=0"},
  };
  for (const auto& overrides : wrong) {
    // The field that the last override names, or a companion of it, begins the message.
    const std::string error = Error(overrides);
    EXPECT_NE(error, "no error") << overrides.back();
    const std::string block = overrides.back().substr(0, overrides.back().find_first_of(".="));
    EXPECT_EQ(error.find(block), 0u) << error;
  }
}

TEST_F(ConfigTest, TheLimitsThemselvesAreAllowed) {
  for (const std::vector<std::string>& overrides : std::vector<std::vector<std::string>>{
           {"solver.momentum=0"},
           {"checkpoint.keep=0"},
           {"threads=0"},
           {"train_data.mean="},
           {"train_data.mean=1"},
           {"train_data.resize_shorter=32", "train_data.pad=2", "train_data.crop_size=36"},
           {"solver.lr_policy=MULTISTEP", "solver.step_value=1,2"}}) {
    EXPECT_EQ(Error(overrides), "no error") << overrides.back();
  }
}

}  // namespace
}  // namespace gf
