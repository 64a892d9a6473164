#include "comm/failure/last_words.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace gf {
namespace {

std::string Prefix(const std::string& name) { return testing::TempDir() + "/" + name; }
bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

TEST(LastWordsTest, WithoutAGuardNothingIsWritten) {
  LastWords words;
  EXPECT_FALSE(words.guarded());
  EXPECT_EQ(words.Write(0, "a", "timeout"), "");
  words.Guard("");
  EXPECT_TRUE(words.guarded());
  EXPECT_EQ(words.Write(0, "a", "timeout"), "");
}

TEST(LastWordsTest, MessagesSayWhereTheFileIs) {
  LastWords words;
  words.Guard(Prefix("said"));
  const std::string path = Prefix("said") + ".rank3.json";
  EXPECT_EQ(words.Write(3, "a", "timeout"), "; see " + path);
  EXPECT_TRUE(Exists(path));
  // An error was no suspicion: its file stays.
  words.EndedWell(3);
  EXPECT_TRUE(Exists(path));
}

TEST(LastWordsTest, ASuspicionIsWithdrawnWhenTheJobEndsWell) {
  LastWords words;
  words.Guard(Prefix("suspected"));
  const std::string path = Prefix("suspected") + ".rank1.json";
  words.Suspect(1, "a", "rank 1 was told to end");
  EXPECT_TRUE(Exists(path));
  words.EndedWell(1);
  EXPECT_FALSE(Exists(path));
}

}  // namespace
}  // namespace gf
