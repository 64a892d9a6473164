#include "solvers/checkpoint/checkpoint_folder.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "solvers/checkpoint/safetensors.h"
#include "tests/solvers/store_for_test.h"

namespace gf {
namespace {

namespace fs = std::filesystem;

class CheckpointFolderTest : public ::testing::Test {
 protected:
  CheckpointFolderTest()
      : path_(::testing::TempDir() + "/checkpoint_folder_test/dir"), store_(TestStore()) {
    fs::remove_all(::testing::TempDir() + "/checkpoint_folder_test");
    SolverConfig config;
    solver_ = NewSolver("solver", "SGD", config, store_.get());
  }

  // `ranks`: with files of so many ranks' residuals.
  std::string Write(CheckpointFolder* folder, int64_t step, int ranks = 0,
                    bool spare_residuals = false) {
    TrainingState state;
    state.world = 2;
    state.residual_ranks = ranks;
    state.step = state.position = step;
    state.epoch = static_cast<double>(step) / 4;
    state.solver = "SGD";
    ExtraFiles extra;
    for (int rank = 0; rank < ranks; ++rank) {
      folder->Stage(step, [&](const std::string& path) {
        SafetensorsWriter file(path + "/" + ResidualFile(rank), {{"x", "F32", Shape({1})}}, {});
        const float value = 1;
        file.Write(&value, sizeof(value));
        extra.emplace_back(ResidualFile(rank), file.Finish());
      });
    }
    if (ranks > 0) {
      folder->Stage(step, [&](const std::string& path) {
        SafetensorsWriter file(path + "/" + kChunksFile, {}, {});
        extra.emplace_back(kChunksFile, file.Finish());
      });
    }
    return folder->Write(state, *store_, *solver_, extra, spare_residuals);
  }

  std::vector<int64_t> Steps() {
    std::vector<int64_t> steps;
    for (const auto& found : ListCheckpoints(path_)) steps.push_back(found.step);
    return steps;
  }

  // Everything in the folder, hidden names included, but the lock.
  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path_)) {
      if (entry.path().filename() != ".lock") names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string Latest() {
    warnings_.clear();
    return LatestValidCheckpoint(path_, [&](const std::string& text) { warnings_ += text; });
  }

  std::string path_, warnings_;
  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<Solver> solver_;
};

TEST_F(CheckpointFolderTest, KeepsTheLastFew) {
  CheckpointFolder folder(path_, 2);
  folder.Prepare(1000);
  for (int64_t step : {10, 20, 30, 40}) {
    EXPECT_EQ(Write(&folder, step), path_ + "/step-000000" + std::to_string(step));
  }
  EXPECT_EQ(Names(), (std::vector<std::string>{"step-00000030", "step-00000040"}));
}

// A checkpoint that a killed job leaves has no residuals, and is no reason to lose those that
// exist.
TEST_F(CheckpointFolderTest, ThoseWithoutResidualsDoNotPushOutTheLastWithThem) {
  CheckpointFolder folder(path_, 2);
  folder.Prepare(1000);
  for (int64_t step : {10, 20, 30}) Write(&folder, step, 2);
  EXPECT_EQ(Steps(), (std::vector<int64_t>{20, 30}));
  Write(&folder, 40, 0, true);
  EXPECT_EQ(Steps(), (std::vector<int64_t>{30, 40}));
  Write(&folder, 50, 0, true);
  EXPECT_EQ(Steps(), (std::vector<int64_t>{30, 40, 50}));
  Write(&folder, 60, 0, true);
  EXPECT_EQ(Steps(), (std::vector<int64_t>{30, 50, 60}));
  Write(&folder, 70, 2);
  EXPECT_EQ(Steps(), (std::vector<int64_t>{60, 70}));
}

TEST_F(CheckpointFolderTest, DamagedOnesWithResidualsAreNotSpared) {
  CheckpointFolder folder(path_, 1);
  folder.Prepare(1000);
  Write(&folder, 10, 2);
  std::ofstream(Write(&folder, 20, 2, true) + "/weights.safetensors", std::ios::app) << "more";
  EXPECT_EQ(Steps(), (std::vector<int64_t>{10, 20}));
  Write(&folder, 30, 0, true);
  EXPECT_EQ(Steps(), (std::vector<int64_t>{10, 30}));
}

// A job in a mode without residuals goes on from one with them.
TEST_F(CheckpointFolderTest, OtherCheckpointsPushThemOut) {
  CheckpointFolder folder(path_, 2);
  folder.Prepare(1000);
  Write(&folder, 10, 2);
  for (int64_t step : {20, 30}) Write(&folder, step);
  EXPECT_EQ(Steps(), (std::vector<int64_t>{20, 30}));
}

TEST_F(CheckpointFolderTest, FindsUndamagedOnesByStep) {
  CheckpointFolder folder(path_, 2);
  folder.Prepare(1000);
  const std::string written = Write(&folder, 10);
  EXPECT_EQ(folder.Find(10), written);
  EXPECT_EQ(folder.Find(20), "");
  std::ofstream(written + "/weights.safetensors", std::ios::app) << "more";
  EXPECT_EQ(folder.Find(10), "");
}

TEST_F(CheckpointFolderTest, KeepZeroKeepsAll) {
  CheckpointFolder folder(path_, 0);
  folder.Prepare(1000);
  for (int64_t step : {10, 20, 30, 40}) Write(&folder, step);
  EXPECT_EQ(Steps(), (std::vector<int64_t>{10, 20, 30, 40}));
}

TEST_F(CheckpointFolderTest, DamagedLaterOnesDoNotPushOutGoodOnes) {
  CheckpointFolder folder(path_, 1);
  folder.Prepare(1000);
  Write(&folder, 10);
  fs::create_directories(path_ + "/step-00000099");
  Write(&folder, 20);
  EXPECT_EQ(Steps(), (std::vector<int64_t>{20, 99}));
  EXPECT_EQ(Latest(), path_ + "/step-00000020");
}

TEST_F(CheckpointFolderTest, LatestPassesOverTheDamagedAndSaysWhy) {
  CheckpointFolder folder(path_, 0);
  folder.Prepare(1000);
  for (int64_t step : {10, 20, 30}) Write(&folder, step);
  fs::resize_file(path_ + "/step-00000030/optimizer.safetensors", 100);
  fs::remove(path_ + "/step-00000020/state.json");
  EXPECT_EQ(Latest(), path_ + "/step-00000010");
  EXPECT_NE(warnings_.find("step-00000030/optimizer.safetensors: has 100 bytes"), std::string::npos)
      << warnings_;
  EXPECT_NE(warnings_.find("step-00000020: not a checkpoint, it has no state.json"),
            std::string::npos)
      << warnings_;
}

TEST_F(CheckpointFolderTest, WithoutAnyLatestIsEmpty) {
  EXPECT_EQ(Latest(), "");
  CheckpointFolder(path_, 1).Prepare(1000);
  EXPECT_EQ(Latest(), "");
}

TEST_F(CheckpointFolderTest, ADamagedCheckpointOfTheSameStepIsReplaced) {
  CheckpointFolder folder(path_, 3);
  folder.Prepare(1000);
  fs::create_directories(path_ + "/step-00000010");
  Write(&folder, 10);
  EXPECT_EQ(Latest(), path_ + "/step-00000010");
  EXPECT_EQ(Names(), (std::vector<std::string>{"step-00000010"}));
}

TEST_F(CheckpointFolderTest, WhatDeadRunsLeftIsRemovedAndNeverTakenForACheckpoint) {
  fs::create_directories(path_ + "/.tmp-step-00000050-123");
  fs::create_directories(path_ + "/.trash-step-00000050");
  std::ofstream(path_ + "/.tmp-step-00000050-123/weights.safetensors") << "half";
  EXPECT_EQ(Latest(), "");
  CheckpointFolder folder(path_, 3);
  folder.Prepare(1000);
  EXPECT_TRUE(Names().empty());
}

TEST_F(CheckpointFolderTest, AFullDiskLeavesOlderCheckpointsAndNoTraces) {
  CheckpointFolder folder(path_, 1);
  folder.Prepare(1000);
  // A limit on the size of files stands for the full disk.
  const auto write_to_full_disk = [&](int64_t step) {
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit old = {};
    getrlimit(RLIMIT_FSIZE, &old);
    rlimit limit = old;
    limit.rlim_cur = 2000;
    setrlimit(RLIMIT_FSIZE, &limit);
    std::string error;
    try {
      Write(&folder, step);
    } catch (const UserError& e) {
      error = e.what();
    }
    setrlimit(RLIMIT_FSIZE, &old);
    return error;
  };
  const std::string first = write_to_full_disk(5);
  EXPECT_NE(first.find("checkpoint of step 5 failed: cannot write"), std::string::npos) << first;
  EXPECT_EQ(first.find("untouched"), std::string::npos) << first;
  Write(&folder, 10);
  const std::string error = write_to_full_disk(20);
  EXPECT_NE(error.find("checkpoint of step 20 failed: cannot write"), std::string::npos) << error;
  EXPECT_NE(error.find("older checkpoints are untouched"), std::string::npos) << error;
  EXPECT_EQ(Names(), (std::vector<std::string>{"step-00000010"}));
  EXPECT_EQ(Latest(), path_ + "/step-00000010");
}

TEST_F(CheckpointFolderTest, AProcessKilledWhileSavingNeverLeavesADamagedCheckpoint) {
  CheckpointFolder(path_, 0).Prepare(1000);
  for (int delay_us = 200; delay_us < 30000; delay_us += 1400) {
    const pid_t child = fork();
    if (child == 0) {
      CheckpointFolder folder(path_, 2);
      for (int64_t step = 1;; ++step) Write(&folder, step);
    }
    usleep(static_cast<useconds_t>(delay_us));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    Latest();
    EXPECT_EQ(warnings_, "");
  }
}

TEST_F(CheckpointFolderTest, TwoRunsInOneFolderAreRefused) {
  CheckpointFolder first(path_, 1);
  first.Prepare(1000);
  CheckpointFolder second(path_, 1);
  second.SetPatience(0.1);
  try {
    second.Prepare(1000);
    FAIL();
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("another run is using"), std::string::npos) << e.what();
  }
}

TEST_F(CheckpointFolderTest, ATooSmallDiskIsNoticedBeforeTraining) {
  try {
    CheckpointFolder(path_, 1).Prepare(uint64_t{1} << 60);
    FAIL();
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("of free space"), std::string::npos) << e.what();
  }
}

TEST_F(CheckpointFolderTest, APlaceThatCannotBeWrittenIsNoticedBeforeTraining) {
  fs::create_directories(::testing::TempDir() + "/checkpoint_folder_test");
  const std::string file = ::testing::TempDir() + "/checkpoint_folder_test/file";
  std::ofstream{file} << "x";
  EXPECT_THROW(CheckpointFolder(file, 1).Prepare(1000), UserError);
  EXPECT_THROW(CheckpointFolder(file + "/sub", 1).Prepare(1000), UserError);
  EXPECT_THROW(CheckpointFolder("/proc/checkpoints", 1).Prepare(1000), UserError);
}

}  // namespace
}  // namespace gf
