#include "solvers/report/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/config/config.h"
#include "solvers/evaluate/class_tally.h"
#include "solvers/report/choice.h"
#include "solvers/report/config_table.h"
#include "solvers/report/meter.h"

namespace gf {
namespace {

TEST(ReportTest, JsonLinesHoldWhatTheConsoleSays) {
  const std::string path = ::testing::TempDir() + "/report.jsonl";
  std::remove(path.c_str());
  {
    Report report(path, false, true);
    report.Start({{"seed", "1"}}, {});
    TrainRecord record;
    record.step = 20;
    record.loss = NAN;
    report.Train(record);
    ClassTally tally(10);
    report.Validation(20, 0.5, tally, 1);
    report.Validation(20, 0.5, ClassTally(5), 1);
    report.Checkpoint(20, "dir/step-00000020", 0.1);
    report.End(20, 0.5, "training has ended");
  }
  std::ifstream file(path);
  std::vector<nlohmann::json> records;
  for (std::string line; std::getline(file, line);) records.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(records.size(), 6u);
  const char* kinds[] = {"start", "train", "validation", "validation", "checkpoint", "end"};
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(records[i]["kind"], kinds[i]);
    EXPECT_TRUE(records[i].contains("time"));
  }
  EXPECT_EQ(records[0]["settings"]["seed"], "1");
  EXPECT_EQ(records[1]["step"], 20);
  EXPECT_TRUE(records[1]["loss"].is_null());
  EXPECT_TRUE(records[2]["top5"].is_number());
  EXPECT_TRUE(records[3]["top5"].is_null());  // of five classes
  EXPECT_EQ(records[4]["path"], "dir/step-00000020");
}

TEST(ReportTest, ChoicesAreTables) {
  ExchangeChoice choice;
  choice.step = 4;
  choice.limit = 0.05;
  choice.slower = 0.1;
  choice.compute = 2;
  choice.noted = "LAZY FP32";
  choice.noted_step = 3.5;
  choice.rungs = {{"LAZY FP32", true, 0, 3, 4000000, 0, 1.5, 3.5, 0, "exposes 75.0 % of compute"},
                  {"TOPK 0.01", false, 0, 0, 0, 0, 0, 0, 0, "needs solver.type SGD, got LARS"},
                  {"LOW_RANK 4", true, -1, 17, 1000, 0.25, 0, 2.25, 2.5, "taken"}};
  choice.chosen = 2;
  const std::vector<std::string> lines = LinesOf(choice);
  ASSERT_EQ(lines.size(), 7u);
  EXPECT_EQ(lines[0], "comm.mode AUTO after step 4: LOW_RANK 4 / 4");
  EXPECT_EQ(lines[1], "  compute 2000.0 ms, a step with LAZY FP32 took 3500.0 ms");
  EXPECT_EQ(
      lines[2],
      "  at most 5 % of compute may be exposed, and a step may be 10 % longer than the fastest");
  EXPECT_NE(lines[5].find("left out: needs solver.type SGD, got LARS"), std::string::npos);
  EXPECT_NE(lines[6].find(" 17 "), std::string::npos);
  EXPECT_NE(lines[6].find("250.0"), std::string::npos);
  choice.step = 0;  // gfsim: no step was done
  EXPECT_EQ(LinesOf(choice)[0], "comm.mode AUTO: LOW_RANK 4 / 4");
  choice.scatter = 0.0321;
  EXPECT_EQ(LinesOf(choice)[2], lines[2]);
  choice.scatter = 0.1234;
  EXPECT_EQ(LinesOf(choice)[2], lines[2] + ", here 12.3 % because trials scatter");
  const nlohmann::ordered_json record = RecordOf(choice);
  EXPECT_EQ(record["scatter"], 0.1234);
  EXPECT_EQ(record["chosen"], "LOW_RANK 4 / 4");
  EXPECT_EQ(record["rungs"][0]["exposed_ms"], 1500);
  EXPECT_EQ(record["rungs"][0]["buckets"], 3);
  EXPECT_FALSE(record["rungs"][0].contains("tried_ms"));
  EXPECT_FALSE(record["rungs"][1].contains("step_ms"));
  EXPECT_EQ(record["rungs"][2]["tried_ms"], 2500);
  EXPECT_EQ(record["rungs"][2]["verdict"], "taken");
}

TEST(ReportTest, OtherRanksWriteNothing) {
  const std::string path = ::testing::TempDir() + "/silent.jsonl";
  std::remove(path.c_str());
  Report report(path, false, false);
  report.End(1, 1, "training has ended");
  EXPECT_FALSE(std::ifstream(path).good());
}

TEST(ConfigTableTest, HasEveryFieldWithItsDefault) {
  JobConfig config;
  ParseTextProto("net: \"a.prototxt\" train_data { source: \"d\" mean: 1 mean: 2 }", "test",
                 &config);
  const auto rows = ConfigTable(config);
  const auto value = [&](const std::string& name) -> std::string {
    for (const auto& row : rows) {
      if (row.first == name) return row.second;
    }
    return "none";
  };
  EXPECT_EQ(value("net"), "a.prototxt");
  EXPECT_EQ(value("train_data.mean"), "1,2");
  EXPECT_EQ(value("train_data.batch_size"), "64");
  EXPECT_EQ(value("solver.momentum"), "0.9");
  EXPECT_EQ(value("comm.timeout_s"), "120");
  EXPECT_EQ(value("validation_data.batch_size"), "none");
  ParseTextProto("solver { rule { pattern: \"*\" lr_mult: 0 } rule { pattern: \"fc.*\" } }", "test",
                 &config);
  const auto changed = ConfigTable(config);
  const auto rule = std::find_if(changed.begin(), changed.end(),
                                 [](const auto& row) { return row.first == "solver.rule"; });
  ASSERT_NE(rule, changed.end());
  EXPECT_EQ(rule->second, "{ pattern: \"*\" lr_mult: 0 },{ pattern: \"fc.*\" }");
}

TEST(ConfigTableTest, ChangedSettingsDifferFromTheirDefaults) {
  JobConfig config;
  ParseTextProto(
      "net: \"a.prototxt\" train_data { source: \"d\" batch_size: 64 mean: 1 }"
      "solver { type: \"SGD\" momentum: 0.5 rule { pattern: \"fc\" lr_mult: 1 } }"
      "comm { mode: LAZY sparse { density: 0.15 } timeout_s: 60 }",
      "test", &config);
  std::vector<std::string> names;
  for (const auto& row : ChangedSettings(config)) names.push_back(row.first);
  EXPECT_EQ(names, (std::vector<std::string>{"net", "train_data.source", "train_data.mean",
                                             "solver.momentum", "solver.rule", "comm.timeout_s"}));
}

TEST(MeterTest, AveragesOverItsInterval) {
  Meter meter;
  meter.Resume();
  meter.Step(8, 1, 0, 0.001);
  meter.Step(12, 3, 0, 0.003);
  TrainRecord record;
  record.step = 2;
  record.max_steps = 4;
  meter.Close(&record);
  EXPECT_EQ(record.loss, 2);
  EXPECT_NEAR(record.comm_ms, 2, 1e-9);
  EXPECT_NEAR(record.eta_s * record.images_per_s, 20, 1e-6);
  EXPECT_EQ(meter.steps(), 0);
}

}  // namespace
}  // namespace gf
