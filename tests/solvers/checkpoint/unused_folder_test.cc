// A start that fails leaves no folder for checkpoints.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "solvers/checkpoint/checkpoint_folder.h"

namespace gf {
namespace {

namespace fs = std::filesystem;

class UnusedFolderTest : public testing::Test {
 protected:
  UnusedFolderTest() { fs::remove_all(top_); }

  static void Start(const std::string& path) { CheckpointFolder(path, 1).Prepare(1000); }

  const std::string top_ = testing::TempDir() + "/unused_folder_test", path_ = top_ + "/run/deeper";
};

TEST_F(UnusedFolderTest, IsRemovedWithTheParentsThatWereCreatedForIt) {
  for (const std::string end : {"", "/"}) {
    CheckpointFolder folder(path_ + end, 1);
    folder.Prepare(1000);
    EXPECT_TRUE(fs::exists(path_ + "/.lock"));
  }
  EXPECT_FALSE(fs::exists(top_));
  EXPECT_TRUE(fs::exists(testing::TempDir()));
}

TEST_F(UnusedFolderTest, ThatWasThereStays) {
  fs::create_directories(top_ + "/run");
  Start(path_);
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_TRUE(fs::exists(top_ + "/run"));
  fs::create_directories(path_);
  Start(path_);
  EXPECT_TRUE(fs::exists(path_));
}

TEST_F(UnusedFolderTest, IsOneWithoutAnyFile) {
  {
    CheckpointFolder folder(path_, 1);
    folder.Prepare(1000);
    std::ofstream(path_ + "/notes.txt") << "x";
  }
  EXPECT_TRUE(fs::exists(path_ + "/notes.txt"));
  EXPECT_TRUE(fs::exists(path_ + "/.lock"));
}

TEST_F(UnusedFolderTest, IsMadeAgainByARunThatWaitsForIt) {
  auto first = std::make_unique<CheckpointFolder>(path_, 1);
  first->Prepare(1000);
  std::thread ends([&] {
    usleep(300000);
    first.reset();
  });
  CheckpointFolder second(path_, 1);
  second.Prepare(1000);
  ends.join();
  EXPECT_TRUE(fs::exists(path_ + "/.lock"));
}

}  // namespace
}  // namespace gf
