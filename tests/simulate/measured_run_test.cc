#include "simulate/measured_run.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/error.h"

namespace gf {
namespace {

const std::string kStart =
    R"({"kind":"start","settings":{"ranks":"4 on 1 host","images per step":"1,024"}})"
    "\n";

std::string Line(double rate, double wait, double comm_ms) {
  return StrCat("{\"kind\":\"train\",\"images_per_s\":", rate, ",\"data_wait\":", wait,
                ",\"comm_ms\":", comm_ms, "}\n");
}

std::string Log(const std::string& text) {
  const std::string folder = StrCat(testing::TempDir(), "/run");
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/log.jsonl") << text;
  return LogOf(folder);
}

std::string ErrorOf(const std::string& text) {
  try {
    ReadMeasuredRun(Log(text));
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

// The error of a log whose only line is a start with these settings.
std::string ErrorOfSettings(const std::string& settings) {
  return ErrorOf("{\"kind\":\"start\",\"settings\":" + settings + "}\n");
}

bool Has(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

TEST(MeasuredRunTest, MediansLeaveOutTheFirstLine) {
  const MeasuredRun run =
      ReadMeasuredRun(Log(kStart + Line(10, 0.9, 900) + Line(1024, 0.1, 4) + Line(512, 0.25, 6) +
                          Line(256, 0.5, 8) + "{\"kind\": \"tr"));  // is being written
  EXPECT_EQ(run.ranks, 4);
  EXPECT_EQ(run.lines, 3);
  EXPECT_DOUBLE_EQ(run.images_per_step, 1024);
  EXPECT_DOUBLE_EQ(run.step_s, 2);
  EXPECT_DOUBLE_EQ(run.exposed_s, 6e-3);
  EXPECT_DOUBLE_EQ(run.data_s, 0.5);
}

TEST(MeasuredRunTest, TheLastStartCounts) {
  const MeasuredRun run = ReadMeasuredRun(
      Log(kStart + Line(1, 0, 0) + Line(2, 0, 0) + kStart + Line(3, 0, 0) + Line(1024, 0, 0)));
  EXPECT_EQ(run.lines, 1);
  EXPECT_DOUBLE_EQ(run.step_s, 1);
}

TEST(MeasuredRunTest, DamagedLogsAreMistakesWithTheirLine) {
  EXPECT_PRED2(Has, ErrorOf(kStart + "{\n" + kStart), "log.jsonl:2: not a JSON object");
  EXPECT_PRED2(Has, ErrorOf(kStart + std::string(100000, '[') + "\n" + kStart), "log.jsonl:2: ");
  EXPECT_PRED2(Has, ErrorOf(Line(1, 0, 0)), "no start is logged");
  EXPECT_PRED2(Has, ErrorOf(kStart + Line(1, 0, 0)), "log.jsonl:1: the run has logged 1 ");
  EXPECT_PRED2(Has, ErrorOfSettings("3"), ":1: the start has no settings");
  EXPECT_PRED2(Has, ErrorOfSettings(R"({"ranks":"99999999999999999999"})"), "number of ranks");
  EXPECT_PRED2(Has, ErrorOfSettings(R"({"ranks":"4","images per step":"8 at first"})"),
               "batch_phase");
  EXPECT_PRED2(Has, ErrorOfSettings(R"({"ranks":"4","images per step":7})"), "images per step");
}

TEST(MeasuredRunTest, ImpossibleValuesDoNotCount) {
  EXPECT_PRED2(Has,
               ErrorOf(kStart + Line(1, 0, 0) + Line(-1e300, 0, 0) + Line(5, 7, 0) + Line(0, 0, 0) +
                       Line(1, 0, -1)),
               "has logged 1 ");
}

}  // namespace
}  // namespace gf
