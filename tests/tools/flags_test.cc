#include "tools/flags.h"

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include <cstring>

#include "core/error.h"

DEFINE_string(config, "", "the job: a prototxt `FILE`");
DEFINE_string(phase, "TRAIN", "the `PHASE`, TRAIN or TEST");
DEFINE_int32(steps, 8, "steps to simulate");
DEFINE_double(rate, 0.2, "images per second");
DEFINE_bool(check, true, "also check the sums");
DEFINE_bool(dry_run, false, "print, train nothing");
DEFINE_string(resume, "", "continue from the last checkpoint, or from `FOLDER`");
DEFINE_int32(not_listed, 0, "belongs to no group");

namespace gf {
namespace {

FlagSpec Spec() {
  FlagSpec spec;
  spec.summary = "tool: does things.";
  spec.usage = {"tool --config=FILE [FLAGS]"};
  spec.examples = {"tool --config=x.prototxt"};
  spec.groups = {{"Job", {"config", "set", "resume", "phase"}},
                 {"Other", {"steps", "rate", "check", "dry_run"}}};
  spec.notes = "A note.\n";
  spec.bare = {{"resume", "latest"}};
  spec.hints_at_settings = true;
  spec.moved = {{"picture", "write FILE, then run other FILE"}};
  return spec;
}

class FlagsTest : public testing::Test {
 protected:
  ~FlagsTest() override {
    FLAGS_config = FLAGS_resume = "";
    FLAGS_phase = "TRAIN";
    FLAGS_steps = 8;
    FLAGS_check = true;
    FLAGS_dry_run = false;
  }

  int Parse(const std::vector<std::string>& words, FlagSpec spec = Spec()) {
    std::vector<std::string> all = {"tool"};
    all.insert(all.end(), words.begin(), words.end());
    std::vector<char*> argv;
    for (std::string& word : all) argv.push_back(word.data());
    if (spec.overrides == nullptr) spec.overrides = &overrides_;
    return ParseFlags(static_cast<int>(argv.size()), argv.data(), spec);
  }

  std::string Error(const std::vector<std::string>& words) {
    try {
      Parse(words);
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  }

  std::vector<std::string> overrides_;
};

TEST_F(FlagsTest, AnEmptyValueIsNotAMissingFlag) {
  EXPECT_EQ(Error({"--config="}), "--config= has no value: give one, or leave the flag out");
  EXPECT_EQ(Error({"--resume", ""}),
            "\"\" is not a flag; flags look like --name=value (see --help)");
}

TEST_F(FlagsTest, EveryFormOfAFlagIsRead) {
  EXPECT_EQ(Parse({"--config=a", "--steps", "3", "--nocheck", "--dry-run", "--phase", "TEST"}), -1);
  EXPECT_EQ(FLAGS_config, "a");
  EXPECT_EQ(FLAGS_steps, 3);
  EXPECT_FALSE(FLAGS_check);
  EXPECT_TRUE(FLAGS_dry_run);
  EXPECT_EQ(FLAGS_phase, "TEST");
  Parse({"-steps=4", "--check=true", "--dry_run=false"});
  EXPECT_EQ(FLAGS_steps, 4);
  EXPECT_TRUE(FLAGS_check);
  EXPECT_FALSE(FLAGS_dry_run);
}

TEST_F(FlagsTest, SetMayBeRepeatedInOrder) {
  Parse({"--set", "a=1", "--set=b.c=2,3", "--set", "a=4"});
  EXPECT_EQ(overrides_, (std::vector<std::string>{"a=1", "b.c=2,3", "a=4"}));
}

TEST_F(FlagsTest, ABareFlagHasItsOwnMeaning) {
  Parse({"--resume", "--steps=2"});
  EXPECT_EQ(FLAGS_resume, "latest");
  Parse({"--resume=folder"});
  EXPECT_EQ(FLAGS_resume, "folder");
}

TEST_F(FlagsTest, MistakesAreNamed) {
  EXPECT_EQ(Error({"--confg=a"}), "unknown flag --confg; did you mean --config?");
  EXPECT_EQ(Error({"--epochs=4"}),
            "unknown flag --epochs; did you mean --set solver.max_epochs=VALUE?");
  FlagSpec other = Spec();
  other.hints_at_settings = false;
  EXPECT_THROW(Parse({"--epochs=4"}, other), UserError);
  EXPECT_EQ(Error({"--quite_another=a"}), "unknown flag --quite_another (see --help)");
  EXPECT_EQ(Error({"--not_listed=1"}), "unknown flag --not_listed (see --help)");
  EXPECT_EQ(Error({"--nosteps"}).find("unknown flag --nosteps"), 0u);
  EXPECT_EQ(Error({"--steps"}), "--steps needs a value: --steps=...");
  EXPECT_EQ(Error({"--config", "--dry_run"}), "--config needs a value: --config=...");
  EXPECT_EQ(Error({"--steps=many"}),
            "--steps: \"many\" is not a value of type int32 (steps to simulate)");
  EXPECT_EQ(
      Error({"--picture=a"}),
      "--picture=a is not a flag of this program: write FILE, then run other FILE --picture=a");
  EXPECT_EQ(Error({"word"}), "\"word\" is not a flag; flags look like --name=value (see --help)");
}

TEST_F(FlagsTest, CaffesCommandLineGetsAHint) {
  EXPECT_EQ(
      Error({"train", "--solver=x"}),
      "\"train\" is not a flag: Caffe's \"caffe train --solver=FILE\" is gftrain --solver=FILE "
      "here");
  EXPECT_EQ(
      Error({"--solver=x"}),
      "unknown flag --solver: a Caffe solver is trained by gftrain --solver=FILE, which writes "
      "the job that --config takes");
}

TEST_F(FlagsTest, WordsGoWhereTheProgramWantsThem) {
  FlagSpec spec = Spec();
  std::vector<std::string> words;
  spec.words = &words;
  Parse({"a", "--steps=2", "b", "-"}, spec);
  EXPECT_EQ(words, (std::vector<std::string>{"a", "b", "-"}));
  const auto error = [&](const std::string& word) -> std::string {
    try {
      Parse({word}, spec);
    } catch (const UserError& thrown) {
      return thrown.what();
    }
    return "no error";
  };
  EXPECT_EQ(error("-dash.jpg"),
            "unknown flag --dash.jpg (see --help); a file of that name is written ./-dash.jpg");
  EXPECT_EQ(error("--confg=2"), "unknown flag --confg; did you mean --config?");
  EXPECT_EQ(FLAGS_steps, 2);
}

TEST_F(FlagsTest, HelpIsMadeOfTheFlagsOwnTexts) {
  EXPECT_EQ(HelpText(Spec()),
            R"(tool: does things.

Usage:
  tool --config=FILE [FLAGS]

Examples:
  tool --config=x.prototxt

Job:
  --config=FILE           the job: a prototxt FILE
  --set PATH=VALUE        override a field of the job by PATH=VALUE; may be repeated
  --resume[=FOLDER]       continue from the last checkpoint, or from FOLDER
  --phase=PHASE           the PHASE, TRAIN or TEST (default: TRAIN)

Other:
  --steps=N               steps to simulate (default: 8)
  --rate=X                images per second (default: 0.2)
  --[no]check             also check the sums (default: true)
  --dry_run               print, train nothing

  --help, --version

A note.
)");
}

TEST_F(FlagsTest, LongTextsAreWrapped) {
  FlagSpec spec = Spec();
  for (int i = 0; i < 30; ++i) spec.notes += "wordy ";
  for (size_t begin = 0, end; begin < HelpText(spec).size(); begin = end + 1) {
    end = HelpText(spec).find('\n', begin);
    ASSERT_LE(end - begin, 98u);
  }
}

TEST_F(FlagsTest, HelpEndsTheProgramWell) {
  EXPECT_EQ(Parse({"--config=a", "--help"}), 0);
  EXPECT_EQ(Parse({"-h"}), 0);
  EXPECT_EQ(Parse({"--version"}), 0);
  EXPECT_EQ(Parse({}), 2);
}

}  // namespace
}  // namespace gf
