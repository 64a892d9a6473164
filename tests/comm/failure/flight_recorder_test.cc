#include "comm/failure/flight_recorder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <thread>
#include <vector>

namespace gf {

class FlightRecorderPeer {
 public:
  static std::mutex& Mutex(FlightRecorder* recorder, int64_t sequence) {
    return recorder->records_[sequence % FlightRecorder::kRecords].mutex;
  }
};

namespace {

using Json = nlohmann::ordered_json;

CollectiveInfo Info(std::string_view label) { return {label, "ring", 4096, "FP32", "BF16"}; }

Json Parsed(const FlightRecorder& recorder) {
  return Json::parse(recorder.Json(3, "b", "timeout"));
}

Json Records(const FlightRecorder& recorder) { return Parsed(recorder).at("collectives"); }

TEST(FlightRecorderTest, TheHeaderSaysWhoWhyAndWhen) {
  FlightRecorder recorder;
  recorder.Queue(Info("a"));
  const Json json = Parsed(recorder);
  EXPECT_EQ(json.at("rank"), 3);
  EXPECT_EQ(json.at("host"), "b");
  EXPECT_EQ(json.at("reason"), "timeout");
  EXPECT_EQ(json.at("queued_in_all"), 1);
  EXPECT_GE(json.at("written_s").get<double>(), 0);
  EXPECT_TRUE(std::regex_match(json.at("written_at").get<std::string>(),
                               std::regex(R"(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z)")));
}

TEST(FlightRecorderTest, ARecordSaysWhatTheCollectiveIs) {
  FlightRecorder recorder;
  recorder.Queue(Info("fc6.weight to fc7.bias, step 12"));
  const Json record = Records(recorder).at(0);
  EXPECT_EQ(record.at("sequence"), 0);
  EXPECT_EQ(record.at("label"), "fc6.weight to fc7.bias, step 12");
  EXPECT_EQ(record.at("algorithm"), "ring");
  EXPECT_EQ(record.at("bytes"), 4096);
  EXPECT_EQ(record.at("type"), "FP32");
  EXPECT_EQ(record.at("wire_type"), "BF16");
}

TEST(FlightRecorderTest, ACollectiveIsQueuedThenRunningThenDone) {
  FlightRecorder recorder;
  const int64_t id = recorder.Queue(Info("a"));
  Json record = Records(recorder).at(0);
  EXPECT_EQ(record.at("state"), "queued");
  EXPECT_TRUE(record.at("enqueued_s").is_number());
  EXPECT_TRUE(record.at("enqueued_at").is_string());
  EXPECT_TRUE(record.at("started_s").is_null());
  EXPECT_TRUE(record.at("ended_at").is_null());

  recorder.Start(id);
  record = Records(recorder).at(0);
  EXPECT_EQ(record.at("state"), "running");
  EXPECT_TRUE(record.at("started_s").is_number());
  EXPECT_TRUE(record.at("ended_s").is_null());

  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  recorder.End(id);
  record = Records(recorder).at(0);
  EXPECT_EQ(record.at("state"), "done");
  EXPECT_GE(record.at("started_s").get<double>(), record.at("enqueued_s").get<double>());
  EXPECT_GE(record.at("ended_s").get<double>(), record.at("started_s").get<double>() + 0.0019);
  EXPECT_GT(record.at("ended_at").get<std::string>(), record.at("started_at").get<std::string>());
  EXPECT_FALSE(record.contains("error"));
}

TEST(FlightRecorderTest, AFailureKeepsItsMessageWhateverComesLater) {
  FlightRecorder recorder;
  const int64_t id = recorder.Queue(Info("a"));
  recorder.Start(id);
  recorder.Fail(id, "rank 2 (host c) is missing");
  recorder.End(id);
  recorder.Fail(id, "shutting down");
  const Json record = Records(recorder).at(0);
  EXPECT_EQ(record.at("state"), "failed");
  EXPECT_EQ(record.at("error"), "rank 2 (host c) is missing");
  EXPECT_TRUE(record.at("ended_s").is_number());
}

TEST(FlightRecorderTest, TheLast256AreKeptOldestFirst) {
  FlightRecorder recorder;
  const int kAll = 3 * FlightRecorder::kRecords + 10;
  for (int i = 0; i < kAll; ++i) {
    const int64_t id = recorder.Queue(Info("bucket " + std::to_string(i)));
    EXPECT_EQ(id, i);
    recorder.Fail(id, "x");
  }
  recorder.Queue(Info("last"));
  const Json records = Records(recorder);
  ASSERT_EQ(records.size(), 256u);
  for (int i = 0; i < 255; ++i) {
    EXPECT_EQ(records[i].at("sequence"), kAll - 255 + i);
    EXPECT_EQ(records[i].at("label"), "bucket " + std::to_string(kAll - 255 + i));
  }
  // Nothing of the record that lay there before is left.
  EXPECT_EQ(records[255].at("label"), "last");
  EXPECT_EQ(records[255].at("state"), "queued");
  EXPECT_FALSE(records[255].contains("error"));
  EXPECT_TRUE(records[255].at("ended_s").is_null());
  EXPECT_EQ(Parsed(recorder).at("queued_in_all"), kAll + 1);
}

TEST(FlightRecorderTest, NumbersNoLongerKeptAreIgnored) {
  FlightRecorder recorder;
  for (int i = 0; i < 2 * FlightRecorder::kRecords; ++i) recorder.Queue(Info("a"));
  recorder.Start(0);
  recorder.End(FlightRecorder::kRecords - 1);
  recorder.Fail(-1, "x");
  recorder.End(1 << 30);
  for (const Json& record : Records(recorder)) EXPECT_EQ(record.at("state"), "queued");
}

TEST(FlightRecorderTest, NoCollectivesIsValidJson) {
  const FlightRecorder recorder;
  EXPECT_TRUE(Records(recorder).empty());
}

TEST(FlightRecorderTest, AnyBytesInTextsGiveValidJson) {
  FlightRecorder recorder;
  const int64_t id = recorder.Queue(Info("a\"\\\n\xff"));
  recorder.Fail(id, "\xc3");
  const Json json = Json::parse(recorder.Json(0, "h\xff", "r\"\xff"));
  EXPECT_EQ(json.at("collectives").at(0).at("label"), "a\"\\\n\xef\xbf\xbd");
}

TEST(FlightRecorderTest, WritingDoesNotWaitForARecordThatStaysLocked) {
  FlightRecorder recorder;
  for (int i = 0; i < 3; ++i) recorder.Queue(Info("a"));
  const std::lock_guard<std::mutex> stuck(FlightRecorderPeer::Mutex(&recorder, 1));
  const std::string path = testing::TempDir() + "/locked.json";
  bool written = false;
  const auto begin = std::chrono::steady_clock::now();
  std::thread watchdog([&] { written = recorder.Write(path, 3, "b", "timeout"); });
  watchdog.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_TRUE(written);
  const Json records = Json::parse(std::ifstream(path)).at("collectives");
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].at("state"), "queued");
  EXPECT_EQ(records[1], Json({{"sequence", 1}, {"state", "locked"}}));
  EXPECT_EQ(records[2].at("state"), "queued");
}

TEST(FlightRecorderTest, WritesTheFileAndLeavesNoTemporaryOne) {
  FlightRecorder recorder;
  recorder.Queue(Info("a"));
  const std::string path = FlightRecorderPath(testing::TempDir() + "/flight_recorder", 3);
  ASSERT_TRUE(recorder.Write(path, 3, "b", "first"));
  ASSERT_TRUE(recorder.Write(path, 3, "b", "second"));
  EXPECT_EQ(Json::parse(std::ifstream(path)).at("reason"), "second");
  EXPECT_NE(access((path + ".tmp").c_str(), F_OK), 0);
}

TEST(FlightRecorderTest, AFileThatCannotBeWrittenIsNamedAndNoMore) {
  const FlightRecorder recorder;
  testing::internal::CaptureStderr();
  EXPECT_FALSE(recorder.Write("/nowhere/f.json", 3, "b", "timeout"));
  const std::string message = testing::internal::GetCapturedStderr();
  EXPECT_NE(message.find(": the flight recorder of rank 3 is lost: cannot write /nowhere/f.json: "),
            std::string::npos)
      << message;
}

TEST(FlightRecorderTest, ThePathNamesTheRank) {
  EXPECT_EQ(FlightRecorderPath("runs/a/flight_recorder", 12), "runs/a/flight_recorder.rank12.json");
}

TEST(FlightRecorderTest, ThreadsRecordWhileAnotherWrites) {
  FlightRecorder recorder;
  const int kThreads = 3, kEach = 3000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const std::string label = "thread " + std::to_string(t);
      for (int i = 0; i < kEach; ++i) {
        const int64_t id = recorder.Queue(Info(label));
        recorder.Start(id);
        recorder.End(id);
      }
    });
  }
  for (int i = 0; i < 20; ++i) EXPECT_LE(Records(recorder).size(), 256u);
  for (std::thread& thread : threads) thread.join();
  const Json records = Records(recorder);
  ASSERT_EQ(records.size(), 256u);
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].at("sequence"), kThreads * kEach - 256 + i);
    EXPECT_EQ(records[i].at("label").get<std::string>().rfind("thread ", 0), 0u);
    EXPECT_EQ(records[i].at("state"), "done");
  }
}

}  // namespace
}  // namespace gf
