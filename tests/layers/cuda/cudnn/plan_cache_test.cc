#include "layers/cuda/cudnn/plan_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace gf {
namespace {

namespace fs = std::filesystem;

class PlanCacheTest : public testing::Test {
 protected:
  PlanCacheTest() { fs::remove_all(folder_); }

  std::string Contents() const {
    std::ifstream file(path_);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  void Fill(const std::string& text) const {
    fs::create_directories(folder_ + "/deep");
    std::ofstream(path_) << text;
  }

  const std::string folder_ = testing::TempDir() + "/plan_cache_test";
  const std::string path_ = folder_ + "/deep/plans.txt";
};

TEST_F(PlanCacheTest, ChoicesAreFoundByTheNextProcess) {
  PlanCache first(path_);
  EXPECT_FALSE(first.Find("a b: 1 2"));
  first.Put("a b: 1 2", 3);
  first.Put("another", 0);
  EXPECT_EQ(first.Find("a b: 1 2"), 3);
  PlanCache second(path_);
  EXPECT_EQ(second.Find("a b: 1 2"), 3);
  EXPECT_EQ(second.Find("another"), 0);
  EXPECT_FALSE(second.Find("a b"));
  // Nothing but the file is left.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_ + "/deep"), fs::directory_iterator()), 1);
}

TEST_F(PlanCacheTest, ProcessesThatWriteInTurnLoseNothing) {
  PlanCache first(path_), second(path_);
  first.Put("x", 1);
  second.Put("y", 2);
  first.Put("z", 3);
  PlanCache third(path_);
  EXPECT_EQ(third.Find("x"), 1);
  EXPECT_EQ(third.Find("y"), 2);
  EXPECT_EQ(third.Find("z"), 3);
}

TEST_F(PlanCacheTest, OtherFilesAreIgnoredAndLeftAlone) {
  const std::string header = "gradientflow plans 2\n";
  for (const std::string& text : std::vector<std::string>{
           "", "export PATH=/bin\n", "gradientflow plans 1\n1 a\n", header + "1\n",
           header + "-1 a\n", header + "1000 a\n", header + " a\n", header + "1 a\n\n",
           header + "1 a\x01\n", header + "1 " + std::string(501, 'a') + "\n",
           header + "99999999999999999999 a\n", header + std::string("1 a\0b\n", 6),
           header + std::string(5 << 20, '1')}) {
    Fill(text);
    PlanCache cache(path_);
    EXPECT_FALSE(cache.Find("a")) << text.substr(0, 60);
    cache.Put("b", 1);
    EXPECT_EQ(cache.Find("b"), 1);
    EXPECT_EQ(Contents(), text) << text.substr(0, 60);
  }
}

TEST_F(PlanCacheTest, AFileThatBecomesDamagedIsNotWrittenOver) {
  PlanCache cache(path_);
  cache.Put("a", 1);
  Fill("something else\n");
  cache.Put("b", 2);
  EXPECT_EQ(Contents(), "something else\n");
  EXPECT_EQ(cache.Find("a"), 1);
}

TEST_F(PlanCacheTest, UnwritablePathsOnlyLoseChoices) {
  fs::create_directories(path_);  // a folder
  PlanCache folder(path_);
  folder.Put("a", 1);
  EXPECT_EQ(folder.Find("a"), 1);
  EXPECT_TRUE(fs::is_directory(path_));
  const std::string pipe = folder_ + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(PlanCache(pipe).Find("a"));  // without waiting for a writer
  PlanCache nowhere("/proc/no/such/folder/plans.txt");
  nowhere.Put("a", 1);
  EXPECT_EQ(nowhere.Find("a"), 1);
  PlanCache none("");
  none.Put("a", 1);
  EXPECT_EQ(none.Find("a"), 1);
}

TEST_F(PlanCacheTest, KeysThatDoNotFitIntoALineAreNotKept) {
  PlanCache cache(path_);
  cache.Put("a\nb", 1);
  cache.Put(std::string(501, 'a'), 1);
  cache.Put("a", -1);
  cache.Put("a", 1000);
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(PlanCacheTest, TheUserChoosesThePath) {
  unsetenv("GF_PLAN_CACHE");
  setenv("XDG_CACHE_HOME", "/x", 1);
  EXPECT_EQ(PlanCache::DefaultPath(), "/x/gradientflow/plans.txt");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/home/someone", 1);
  EXPECT_EQ(PlanCache::DefaultPath(), "/home/someone/.cache/gradientflow/plans.txt");
  unsetenv("HOME");
  EXPECT_EQ(PlanCache::DefaultPath(), "");
  setenv("GF_PLAN_CACHE", "/y", 1);
  EXPECT_EQ(PlanCache::DefaultPath(), "/y");
}

}  // namespace
}  // namespace gf
