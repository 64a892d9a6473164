#include "core/config/config.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "core/config/job_checks.h"
#include "core/error.h"
#include "tests/core/config/config_for_test.h"

namespace gf {
namespace {

TEST_F(ConfigTest, InputsAreRelativeToTheConfigOutputsToTheWorkingFolder) {
  const JobConfig config = Read();
  EXPECT_EQ(config.net(), testing::TempDir() + "/nets/lenet.prototxt");
  EXPECT_EQ(config.train_data().source(), testing::TempDir() + "/data/train-*.tar");
  EXPECT_EQ(config.validation_data().source(), "/abs/val");
  EXPECT_EQ(config.checkpoint().dir(), "checkpoints");
}

TEST_F(ConfigTest, AMeanFileIsRelativeToTheConfig) {
  const JobConfig config =
      Read({"train_data.mean=", "train_data.mean_file=mean.binaryproto",
            "validation_data.mean_file=/abs/mean.binaryproto", "train_data.root_folder=images"});
  EXPECT_EQ(config.train_data().root_folder(), testing::TempDir() + "/images");
  EXPECT_EQ(config.train_data().mean_file(), testing::TempDir() + "/mean.binaryproto");
  EXPECT_EQ(config.validation_data().mean_file(), "/abs/mean.binaryproto");
  EXPECT_FALSE(Read().train_data().has_mean_file());
}

TEST_F(ConfigTest, AFileOfLabelsIsRelativeToTheConfig) {
  JobConfig config = Read({"train_data.labels.file=tags.csv", "validation_data.labels.file=/a/b"});
  EXPECT_EQ(config.train_data().labels().file(), testing::TempDir() + "/tags.csv");
  EXPECT_EQ(config.validation_data().labels().file(), "/a/b");
  config.mutable_train_data()->mutable_labels()->set_file("x.csv");
  MakePathsAbsolute(&config);
  EXPECT_EQ(config.train_data().labels().file(),
            (std::filesystem::current_path() / "x.csv").string());
}

TEST_F(ConfigTest, TrainingAndValidationHaveTheSameLabels) {
  EXPECT_EQ(Error({"train_data.labels.type=CLASSES"}),
            "--set train_data.labels.type=CLASSES: train_data.labels.type is CLASSES, but "
            "validation_data.labels.type is CLASS: write the same in both");
  EXPECT_NE(Error({"train_data.labels.type=VALUES", "validation_data.labels.type=VALUES"})
                .find("train_data.labels.count is missing: labels of type VALUES need"),
            std::string::npos);
  EXPECT_EQ(
      Error({"train_data.labels.type=VALUES", "validation_data.labels.type=VALUES", "classes=2"}),
      "no error");
}

TEST_F(ConfigTest, PathsOfANetAreRelativeToItsFile) {
  const std::string file = testing::TempDir() + "/infogain.prototxt";
  for (const std::string source : {"h.binaryproto", "/abs/h.binaryproto"}) {
    std::ofstream(file) << "layer { name: 'l' type: 'InfogainLoss' infogain_loss_param { source: '"
                        << source << "' } }";
    const NetSource net = ReadNet(file);
    EXPECT_EQ(net.param.layer(0).infogain_loss_param().source(),
              source[0] == '/' ? source : testing::TempDir() + "/h.binaryproto");
  }
  std::ofstream(file) << "layer { name: 'l' type: 'InfogainLoss' infogain_loss_param { axis: 2 } }";
  EXPECT_FALSE(ReadNet(file).param.layer(0).infogain_loss_param().has_source());
}

TEST_F(ConfigTest, APathThatExistsInTheWorkingFolderAloneIsPointedOut) {
  const std::string here = testing::TempDir() + "/here";
  std::filesystem::create_directories(here + "/jobs");
  std::filesystem::create_directories(here + "/data");
  std::ofstream(here + "/data/0.tar") << "";
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(here);
  file_ = "jobs/job.prototxt";
  const std::string rest = " solver { base_lr: 1 max_steps: 1 }";
  EXPECT_EQ(
      ErrorOfFile("net: \"/n\"\ntrain_data { source: \"data/*.tar\" }" + rest),
      "FILE:2:14: train_data.source: jobs/data/*.tar does not exist, but data/*.tar does: net "
      "and data are relative to the config file; write ../data/*.tar or the whole path");
  std::ofstream("net.prototxt") << "";
  EXPECT_NE(Error({"net=net.prototxt"}).find("--set net=net.prototxt: net: jobs/net.prototxt does"),
            std::string::npos);
  EXPECT_NE(
      ErrorOfFile("net: \"/n\"\ntrain_data { source: \"/d\" mean_file: \"net.prototxt\" }" + rest)
          .find("FILE:2:27: train_data.mean_file: jobs/net.prototxt does not exist, but "),
      std::string::npos);
  std::ofstream(file_) << "net: \"/n\" train_data { source: \"data/*.tar\" }" << rest;
  // Programs that do not open the data do not ask for them.
  EXPECT_EQ(ReadJobConfig(file_, {}, OpenedData::kValidation).train_data().source(),
            "jobs/data/*.tar");
  std::filesystem::create_directories(here + "/jobs/data");
  std::ofstream(here + "/jobs/data/0.tar") << "";
  EXPECT_EQ(Read().train_data().source(), "jobs/data/*.tar");
  // A folder of the pattern's name says nothing of its files.
  std::filesystem::remove(here + "/data/0.tar");
  std::filesystem::remove(here + "/jobs/data/0.tar");
  EXPECT_EQ(Read().train_data().source(), "jobs/data/*.tar");
  std::filesystem::current_path(before);
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

TEST_F(ConfigTest, AMissingFieldIsNamedWithTheBlockThatShouldHoldIt) {
  EXPECT_EQ(ErrorOfFile("net: 'n'\ntrain_data { batch_size: 3 }"),
            "FILE:2:1: train_data.source is missing: name a folder, a file or a glob of shards");
  EXPECT_EQ(ErrorOfFile("net: 'n'\n train_data { source: 'd' }\n  solver { max_steps: 1 }"),
            "FILE:3:3: solver.base_lr is missing: give the learning rate");
  EXPECT_EQ(ErrorOfFile("net: 'n' train_data { source: 'd' }\nsolver { base_lr: 1 }"),
            "FILE:2:1: solver.max_epochs is missing: give max_epochs or max_steps, the length of "
            "training");
  EXPECT_EQ(ErrorOfFile("train_data { source: 'd' }"),
            "FILE: net is missing: name the network's prototxt file");
  EXPECT_EQ(ErrorOfFile("net: 'n' solver { base_lr: 1 max_steps: 2 }"),
            "FILE: train_data is missing: say what to train on");
  EXPECT_EQ(ErrorOfFile(kJob, {"init[0].pattern=*"})
                .find("--set init[0].pattern=*: "
                      "init[0].filler is missing: "),
            0u);
}

TEST_F(ConfigTest, AnErrorOfTheFileNamesLineAndColumn) {
  const std::string head = "net: 'n'\ntrain_data {\n  source: 'd'\n  batch_size: 0\n}\n";
  EXPECT_EQ(ErrorOfFile(head), "FILE:4:3: train_data.batch_size is 0, must be greater than 0");
  const std::string solver =
      "net: 'n' train_data { source: 'd' }\nsolver { base_lr: 1 max_steps: 1 ";
  EXPECT_EQ(ErrorOfFile(solver + "momentum: 1 }"),
            "FILE:2:34: solver.momentum is 1, must be less than 1");
  EXPECT_EQ(ErrorOfFile(solver + "lr_policy: MULTISTEP step_value: 5\n  step_value: 5 }"),
            "FILE:3:3: solver.step_value[1] is 5, must be greater than the one before (5)");
  EXPECT_EQ(ErrorOfFile(solver + "max_epochs: 2 }"),
            "FILE:2:21: solver.max_steps does not go with max_epochs: give one of them");
  EXPECT_EQ(ErrorOfFile("net: 'n' train_data { source: 'd' std: [1,\n 0, 1] }"),
            "FILE:1:35: train_data.std[1] is 0, must be greater than 0");
}

TEST_F(ConfigTest, AnErrorOfSetNamesTheAssignment) {
  EXPECT_EQ(Error({"train_data.batch_size=0"}),
            "--set train_data.batch_size=0: train_data.batch_size is 0, must be greater than 0");
  EXPECT_EQ(Error({"train_data.mean=1,2"}),
            "--set train_data.mean=1,2: train_data.mean has 2 values, must have 1 or 3 (channels)");
  EXPECT_EQ(Error({"train_data.channels=1", "train_data.mean=1,2"}),
            "--set train_data.mean=1,2: train_data.mean has 2 values, must have 1");
  EXPECT_EQ(Error({"solver.lr_policy=MULTISTEP", "solver.step_value=5,5"}),
            "--set solver.step_value=5,5: solver.step_value[1] is 5, must be greater than the one "
            "before (5)");
  EXPECT_EQ(Error({"solver.lr_policy=STEP"}),
            "--set solver.lr_policy=STEP: solver.step_size is missing: lr_policy STEP needs "
            "step_size or step_epochs");
  EXPECT_EQ(Error({"net="}), "--set net=: net is missing: name the network's prototxt file");
  // The file has max_epochs; what --set adds to it is the mistake.
  EXPECT_EQ(Error({"solver.max_steps=9"}),
            "--set solver.max_steps=9: solver.max_steps does not go with max_epochs: give one of "
            "them");
}

TEST_F(ConfigTest, AMessageThatSetHasAddedNamesTheAssignment) {
  const std::string job = "net: 'n' train_data { source: 'd' } solver { base_lr: 1 max_steps: 1 }";
  EXPECT_EQ(ErrorOfFile(job, {"validation_data.batch_size=3"})
                .find("--set validation_data.batch_size=3: validation_data.source is missing"),
            0u);
}

TEST_F(ConfigTest, TheLastSetOfAFieldIsNamed) {
  EXPECT_EQ(Error({"threads=2", "threads=-3"}),
            "--set threads=-3: threads is -3, must be at least 0");
  EXPECT_EQ(ErrorOfFile("net: 'n' threads: -1 train_data { source: 'd' }", {"threads=-2"}),
            "--set threads=-2: threads is -2, must be at least 0");
  EXPECT_EQ(ErrorOfFile("net: 'n' threads: -1 train_data { source: 'd' }", {"seed=2"}),
            "FILE:1:10: threads is -1, must be at least 0");
}

TEST_F(ConfigTest, OfTwoFieldsThatDoNotGoTogetherTheOneFromSetIsNamed) {
  const std::string job = "net: 'n' train_data { source: 'd' } solver { base_lr: 1 max_steps: 1 }";
  EXPECT_EQ(ErrorOfFile(job, {"solver.max_epochs=2"}),
            "--set solver.max_epochs=2: solver.max_epochs does not go with max_steps: give one of "
            "them");
}

TEST_F(ConfigTest, AConfigThatWasBuiltInCodeNamesTheFieldAlone) {
  const auto error = [](const JobConfig& config) -> std::string {
    try {
      CheckJob(config);
    } catch (const UserError& e) {
      return e.what();
    }
    return "no error";
  };
  JobConfig config = Read();
  EXPECT_EQ(error(config), "no error");
  config.mutable_comm()->mutable_sparse()->set_density(3);
  EXPECT_EQ(error(config), "comm.sparse.density is 3, must be at most 1");
  config.mutable_comm()->clear_sparse();
  config.clear_net();
  EXPECT_EQ(error(config), "net is missing: name the network's prototxt file");
}

// min_area is 0.08 by default.
TEST_F(ConfigTest, ADefaultHasNoPlace) {
  EXPECT_EQ(Places().Before("train_data.min_area"), "");
  const std::string error = Error({"train_data.random_resized_crop=true", "train_data.crop_size=9",
                                   "train_data.max_area=0.05"});
  EXPECT_EQ(error.find("--set train_data.max_area=0.05: train_data.max_area leaves no area"), 0u)
      << error;
  EXPECT_EQ(Error({"solver.lr_policy=EXP", "solver.gamma=0"}),
            "--set solver.gamma=0: solver.gamma is 0, must be greater than 0 with lr_policy EXP");
}

}  // namespace
}  // namespace gf
