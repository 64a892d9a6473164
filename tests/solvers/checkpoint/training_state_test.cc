#include "solvers/checkpoint/training_state.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/file.h"
#include "core/file_digest.h"
#include "core/folder.h"
#include "core/output_file.h"
#include "solvers/checkpoint/checkpoint.h"
#include "tests/solvers/store_for_test.h"

namespace gf {
namespace {

using json = nlohmann::ordered_json;

// Of 42 steps of 20 images on 400 images.
TrainingState Good() {
  TrainingState state;
  state.step = 42;
  state.updates = 41;
  state.last_lr = 0.1 / 3;
  state.loss_scale = 1024;
  state.clean_steps = 7;
  state.position = 840;
  state.epoch = 840.0 / 400;
  state.seed = UINT64_MAX;
  state.world = 2;
  state.threads = 5;
  state.solver = "SGD";
  state.net = "small";
  state.config = "name: \"small\"";
  state.exchange = "SPARSE 0.15";
  state.residual_ranks = 2;
  return state;
}

// Values as JSON that a forger may try.
std::vector<std::string> Values() {
  std::vector<std::string> values = {
      "-1", "0", "1", "2", "3", "5", "7", "8", "39", "40", "41", "42", "43", "839", "840", "841",
      "65536", "65537", "\"42\"", "null", "true", "[42]", "{}", "42.5", "1e308", "-1e308", "1e-320",
      "-0.0", "1e400", "42e0", "1e16", "3.5e38", "\"nan\"", "\"\\u001b[31m\"",
      // 2^31 - 1, 2^31, 2^32, 2^53, 2^62, 2^63 - 808, 2^63 - 1, 2^63, 2^64 - 1, 2^64, -2^63
      "2147483647", "2147483648", "4294967296", "9007199254740992", "4611686018427387904",
      "9223372036854775000", "9223372036854775807", "9223372036854775808", "18446744073709551615",
      "18446744073709551616", "-9223372036854775808"};
  return values;
}

// The texts of Values that a member may have beside the others of Good.
std::set<std::string> Possible(const std::string& key) {
  // From the updates to the position; the folder's name says more.
  if (key == "step") return {"41", "42", "43", "839", "840"};
  if (key == "updates") return {"0", "1", "2", "3", "5", "7", "8", "39", "40", "41", "42"};
  if (key == "clean_steps") return Possible("updates");
  if (key == "last_lr") {
    return {"0",
            "1",
            "2",
            "3",
            "5",
            "7",
            "8",
            "39",
            "40",
            "41",
            "42",
            "43",
            "839",
            "840",
            "841",
            "65536",
            "65537",
            "42.5",
            "1e-320",
            "-0.0",
            "42e0",
            "1e16",
            "2147483647",
            "2147483648",
            "4294967296",
            "9007199254740992",
            "4611686018427387904",
            "9223372036854775000",
            "9223372036854775807",
            "9223372036854775808",
            "18446744073709551615",
            "18446744073709551616"};
  }
  if (key == "loss_scale") {
    return {"1",    "2",      "3",    "5",          "7",          "8",         "39",    "40",
            "41",   "42",     "43",   "839",        "840",        "841",       "65536", "65537",
            "42.5", "1e-320", "42e0", "2147483647", "2147483648", "4294967296"};
  }
  if (key == "position") return {"42", "840"};  // of 20 images, and of 400
  // The position divided by a whole number.
  if (key == "epoch") return {"1", "2", "3", "5", "7", "8", "40", "42", "840", "42e0"};
  if (key == "seed") {
    return {"0",
            "1",
            "2",
            "3",
            "5",
            "7",
            "8",
            "39",
            "40",
            "41",
            "42",
            "43",
            "839",
            "840",
            "841",
            "65536",
            "65537",
            "2147483647",
            "2147483648",
            "4294967296",
            "9007199254740992",
            "4611686018427387904",
            "9223372036854775000",
            "9223372036854775807",
            "9223372036854775808",
            "18446744073709551615"};
  }
  if (key == "world" || key == "residual_ranks") return {"2"};
  if (key == "threads") {
    return {"1",  "2",  "3",  "5",   "7",   "8",   "39",   "40",
            "41", "42", "43", "839", "840", "841", "65536"};
  }
  return {"\"42\"", "\"nan\"", "\"\\u001b[31m\""};  // texts
}

std::string ErrorOf(const std::string& text) {
  try {
    ParseTrainingState(text, "FILE");
  } catch (const UserError& e) {
    return e.what();
  }
  return "";
}

// Good with the text of one member replaced.
std::string Forged(const std::string& key, const std::string& value) {
  json object = ToJson(Good());
  object[key] = "@@@";
  std::string text = JsonText(object);
  return text.replace(text.find("\"@@@\""), 5, value);
}

TEST(TrainingStateTest, TheStateTravelsAsText) {
  EXPECT_EQ(ToText(ParseTrainingState(ToText(Good()), "text")), ToText(Good()));
  EXPECT_EQ(ToText(ParseTrainingState(ToText(TrainingState()), "text")), ToText(TrainingState()));
  EXPECT_EQ(ImagesOf(Good()), 400);
  EXPECT_EQ(ImagesOf(TrainingState()), 0);
}

// Some 650 forgeries.
TEST(TrainingStateTest, ExactlyTheImpossibleValuesAreRefused) {
  const json good = ToJson(Good());
  int tried = 0, refused = 0;
  for (const auto& member : good.items()) {
    const std::string& key = member.key();
    const std::set<std::string> possible = Possible(key);
    for (const std::string& value : Values()) {
      const std::string error = ErrorOf(Forged(key, value));
      ++tried;
      refused += !error.empty();
      // Beyond a double: the text is not JSON.
      if (value == "1e400") {
        EXPECT_NE(error, "") << key;
        continue;
      }
      EXPECT_EQ(error.empty(), possible.count(value) != 0)
          << key << " = " << value << ": " << error;
      if (error.empty()) continue;
      // World and residual ranks, or step and what depends on it, may be named instead.
      EXPECT_EQ(error.find("FILE: "), 0u) << error;
      EXPECT_NE(error.find(" is "), std::string::npos) << error;
      EXPECT_NE(error.find(", expected "), std::string::npos) << error;
      EXPECT_EQ(error.find('\x1b'), std::string::npos) << error;
    }
  }
  EXPECT_GT(tried, 600);
  EXPECT_GT(refused, 450);
}

TEST(TrainingStateTest, MessagesNameTheFileTheMemberAndTheRange) {
  EXPECT_EQ(ErrorOf(Forged("position", "9223372036854775807")),
            "FILE: position is 9223372036854775807, expected a whole number from 0 to "
            "1000000000000000: the file is damaged or forged");
  EXPECT_EQ(ErrorOf(Forged("clean_steps", "18446744073709551615")),
            "FILE: clean_steps is 18446744073709551615, expected a whole number from 0 to 42 "
            "(step): the file is damaged or forged");
  EXPECT_EQ(ErrorOf(Forged("position", "41")),
            "FILE: position is 41, expected 42 or more (an image or more in each of the steps): "
            "the file is damaged or forged");
  EXPECT_EQ(ErrorOf(Forged("epoch", "2.2")),
            "FILE: epoch is 2.2, expected the position, 840, divided by the number of images, a "
            "whole number: the file is damaged or forged");
  EXPECT_EQ(ErrorOf(Forged("loss_scale", "-1")).find("FILE: loss_scale is -1, expected"), 0u);
  const std::string longest = ErrorOf(Forged("world", "\"" + std::string(100000, 'x') + "\""));
  EXPECT_LT(longest.size(), 400u) << longest.substr(0, 1000);
  json without = ToJson(Good());
  without.erase("epoch");
  EXPECT_EQ(ErrorOf(JsonText(without)), "FILE: \"epoch\" is missing");
}

// A checkpoint whose state is forged, with right checksums.
class ForgedCheckpointTest : public ::testing::Test {
 protected:
  ForgedCheckpointTest()
      : store_(TestStore()), solver_(NewSolver("solver", "SGD", SolverConfig(), store_.get())) {
    std::filesystem::remove_all(Root());
  }

  static std::string Root() { return ::testing::TempDir() + "/forged_checkpoint_test"; }

  // The error of loading folder NAME with this text in state.json.
  std::string ErrorOf(const std::string& name, const std::function<void(json*)>& forge) {
    const std::string folder = Root() + "/" + name;
    MakeFolders(folder);
    TrainingState state = Good();
    state.residual_ranks = 0;
    WriteCheckpointFiles(folder, state, *store_, *solver_);
    json root = json::parse(ReadSmallFile(folder + "/state.json", 1 << 20));
    root.erase("xxh3");
    forge(&root);
    const std::string text = JsonText(root);
    root["xxh3"] = HashName(XXH3_64bits(text.data(), text.size()));
    ReplaceFile(folder + "/state.json", JsonText(root));
    try {
      VerifyCheckpoint(folder);
    } catch (const UserError& e) {
      return e.what();
    }
    return "";
  }

  std::unique_ptr<ParameterStore> store_;
  std::unique_ptr<Solver> solver_;
};

TEST_F(ForgedCheckpointTest, TheStepIsTheFoldersNumber) {
  const auto nothing = [](json*) {};
  EXPECT_EQ(ErrorOf("step-00000042", nothing), "");
  EXPECT_EQ(ErrorOf("step-00000042/", nothing), "");
  EXPECT_EQ(ErrorOf("best", nothing), "");
  const std::string error = ErrorOf("step-00000043", nothing);
  EXPECT_EQ(error.find(Root() + "/step-00000043/state.json: step is 42, expected 43, the number"),
            0u)
      << error;
  EXPECT_NE(ErrorOf("step-00000043/", nothing).find("step is 42, expected 43"), std::string::npos);
}

TEST_F(ForgedCheckpointTest, RightChecksumsDoNotMakeItPossible) {
  const auto set = [](const char* key, const json& value) {
    return [=](json* root) { (*root)[key] = value; };
  };
  const std::string name = "step-00000042";
  EXPECT_NE(ErrorOf(name, set("position", INT64_MAX)).find("/state.json: position is 92233"),
            std::string::npos);
  EXPECT_NE(ErrorOf(name, set("world", -1)).find("/state.json: world is -1, expected"),
            std::string::npos);
  // Values are dumped for the checksum, which recursion does.
  const std::string deep(1 << 20, '[');
  MakeFolders(Root() + "/deep");
  ReplaceFile(Root() + "/deep/state.json", "{\"a\":" + deep);
  try {
    VerifyCheckpoint(Root() + "/deep");
    FAIL();
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("state.json: is nested too deeply"), std::string::npos);
  }
  ReplaceFile(Root() + "/deep/state.json", "{\"format\":1,\"step\":1,\"step\":2}");
  try {
    VerifyCheckpoint(Root() + "/deep");
    FAIL();
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("has \"step\" twice"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace gf
