#include "core/telemetry/json_lines.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "core/error.h"

namespace gf {
namespace {

std::string TempFile(const std::string& name) { return testing::TempDir() + "/" + name; }

std::string Contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(JsonLinesTest, AppendsOneObjectPerLineInTheOrderGiven) {
  const std::string path = TempFile("log.jsonl");
  std::remove(path.c_str());
  for (int run = 0; run < 2; ++run) {
    JsonLines log(path);
    nlohmann::ordered_json record;
    record["step"] = run;
    record["loss"] = 0.5;
    log.Write(record);
    // Flushed when written.
    EXPECT_NE(Contents(path).find("{\"step\":" + std::to_string(run)), std::string::npos);
  }
  EXPECT_EQ(Contents(path), "{\"step\":0,\"loss\":0.5}\n{\"step\":1,\"loss\":0.5}\n");
}

TEST(JsonLinesTest, NoPathWritesNothing) {
  JsonLines log("");
  log.Write({{"step", 1}});
}

TEST(JsonLinesTest, NamesTheFileItCannotOpen) {
  try {
    JsonLines log("/nowhere/log.jsonl");
    FAIL() << "no exception";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("/nowhere/log.jsonl"), std::string::npos) << e.what();
  }
}

TEST(JsonLinesTest, TextThatIsNotUtf8DoesNotEndTheJob) {
  const std::string path = TempFile("bytes.jsonl");
  std::remove(path.c_str());
  JsonLines log(path);
  log.Write({{"key", "a\xff"}});
  EXPECT_NE(Contents(path).find("\"a\xef\xbf\xbd\""), std::string::npos);
}

TEST(JsonLinesTest, AFullDiskIsReportedOnceAndTrainingGoesOn) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  JsonLines log("/dev/full");
  testing::internal::CaptureStderr();
  log.Write({{"step", 1}});
  log.Write({{"step", 2}});
  const std::string message = testing::internal::GetCapturedStderr();
  EXPECT_EQ(message.find("json_lines_test: cannot write /dev/full: "), 0u) << message;
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 1) << message;
}

}  // namespace
}  // namespace gf
