#include "core/telemetry/timeline.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "core/error.h"

namespace gf {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::microseconds;
using std::chrono::nanoseconds;

// The complete events of a trace, in its order.
std::vector<Json> Events(const std::string& text) {
  std::vector<Json> events;
  const Json trace = Json::parse(text);
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") events.push_back(event);
  }
  return events;
}

std::vector<std::string> Names(const std::string& text) {
  std::vector<std::string> names;
  for (const Json& event : Events(text)) names.push_back(event.at("name"));
  return names;
}

// Thread names of a rank from top to bottom.
std::vector<std::string> Lanes(const std::string& text, int pid) {
  std::map<int, std::string> names, sorted;
  const Json trace = Json::parse(text);
  for (const Json& event : trace.at("traceEvents")) {
    if (event.at("pid") != pid) continue;
    if (event.at("name") == "thread_name") names[event.at("tid")] = event.at("args").at("name");
    if (event.at("name") == "thread_sort_index") {
      sorted[event.at("args").at("sort_index")] = names.at(event.at("tid"));
    }
  }
  std::vector<std::string> lanes;
  for (const auto& [index, name] : sorted) lanes.push_back(name);
  return lanes;
}

class TimelineTest : public testing::Test {
 protected:
  TimelineTest() { timeline_.SetStep(100); }

  void Add(const char* lane, const char* name, int begin_us, int end_us) {
    timeline_.Add(lane, name, start_ + microseconds(begin_us), start_ + microseconds(end_us));
  }

  const Timeline::TimePoint start_ = Timeline::Clock::now();
  Timeline timeline_{3, "b", {100, 101}};
};

TEST_F(TimelineTest, AnEventHasAllFieldsOfTheTraceFormat) {
  timeline_.Add(lane::kBucketTransfer, "bucket 2", start_ + nanoseconds(1500),
                start_ + nanoseconds(4750), {{"bytes", 1024}});
  Add(lane::kForward, "conv1", 0, 1);
  const Json event = Events(timeline_.Json()).at(1);
  EXPECT_EQ(event.at("name"), "bucket 2");
  EXPECT_EQ(event.at("cat"), "bucket transfer");
  EXPECT_EQ(event.at("pid"), 3);
  EXPECT_EQ(event.at("tid"), 2);
  EXPECT_NEAR(event.at("ts").get<double>() - Events(timeline_.Json())[0].at("ts").get<double>(),
              1.5, 1e-9);
  EXPECT_DOUBLE_EQ(event.at("dur"), 3.25);
  EXPECT_EQ(event.at("args"), Json({{"bytes", 1024}, {"step", 100}}));
}

TEST_F(TimelineTest, ARankIsAProcessNamedAfterRankAndHost) {
  const Json events = Json::parse(timeline_.Json()).at("traceEvents");
  EXPECT_EQ(
      events.at(0),
      Json(
          {{"name", "process_name"}, {"ph", "M"}, {"pid", 3}, {"args", {{"name", "rank 3 (b)"}}}}));
  EXPECT_EQ(events.at(1).at("args"), Json({{"sort_index", 3}}));
}

TEST_F(TimelineTest, LanesComeInAFixedOrderAndOthersBelow) {
  Add("own lane", "x", 0, 1);
  for (const char* name :
       {lane::kValidation, lane::kCheckpoint, lane::kDataWait, lane::kUpdate, lane::kBucketTransfer,
        lane::kBucketWait, lane::kBackward, lane::kForward}) {
    Add(name, "x", 0, 1);
  }
  EXPECT_EQ(
      Lanes(timeline_.Json(), 3),
      (std::vector<std::string>{"forward", "backward", "bucket wait", "bucket transfer", "update",
                                "data wait", "checkpoint", "validation", "own lane"}));
}

TEST_F(TimelineTest, EventsComeByTimeWhateverTheOrderOfAdding) {
  Add(lane::kForward, "third", 20, 30);
  Add(lane::kBackward, "first", 0, 10);
  Add(lane::kForward, "inner second", 10, 12);
  Add(lane::kForward, "outer second", 10, 20);
  EXPECT_EQ(Names(timeline_.Json()),
            (std::vector<std::string>{"first", "outer second", "inner second", "third"}));
}

TEST_F(TimelineTest, SpansThatOverlapGetRowsOfTheirOwnAndSpansThatNestDoNot) {
  Add(lane::kBucketWait, "0", 0, 10);
  Add(lane::kBucketWait, "1", 5, 20);
  Add(lane::kBucketWait, "2", 8, 30);
  Add(lane::kBucketWait, "3", 10, 15);
  Add(lane::kForward, "net", 0, 10);
  Add(lane::kForward, "conv1", 0, 4);
  Add(lane::kForward, "conv2", 4, 10);
  const std::string text = timeline_.Json();
  EXPECT_EQ(Lanes(text, 3), (std::vector<std::string>{"forward", "bucket wait", "bucket wait (2)",
                                                      "bucket wait (3)"}));
  std::map<std::string, int> tids;
  for (const Json& event : Events(text)) tids[event.at("name")] = event.at("tid");
  EXPECT_EQ(tids,
            (std::map<std::string, int>{
                {"net", 1}, {"conv1", 1}, {"conv2", 1}, {"0", 2}, {"1", 3}, {"2", 4}, {"3", 2}}));
}

TEST_F(TimelineTest, OnlyTheChosenStepsAreRecorded) {
  for (const int64_t step : {99, 100, 101, 102}) {
    timeline_.SetStep(step);
    EXPECT_EQ(timeline_.active(), step == 100 || step == 101);
    Add(lane::kForward, std::to_string(step).c_str(), 10 * step, 10 * step + 1);
    Timeline::Span span(&timeline_, lane::kUpdate, "update " + std::to_string(step));
  }
  const std::vector<std::string> names = Names(timeline_.Json());
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()),
            (std::set<std::string>{"100", "101", "update 100", "update 101"}));
}

TEST_F(TimelineTest, NoStepIsRecordedBeforeTheFirstIsSet) {
  Timeline timeline(0, "a", {0, 10});
  timeline.Add(lane::kForward, "x", start_, start_);
  EXPECT_TRUE(Events(timeline.Json()).empty());
}

TEST_F(TimelineTest, ASpanRecordsItsLifetimeInTheStepInWhichItBegan) {
  timeline_.SetStep(101);
  {
    Timeline::Span span(&timeline_, lane::kCheckpoint, "write");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    timeline_.SetStep(102);
  }
  const Json event = Events(timeline_.Json()).at(0);
  EXPECT_GE(event.at("dur").get<double>(), 2000);
  EXPECT_LT(event.at("dur").get<double>(), 10e6);
  EXPECT_EQ(event.at("args"), Json({{"step", 101}}));
}

TEST_F(TimelineTest, ASpanOfNoTimelineDoesNothing) {
  Timeline::Span span(nullptr, lane::kForward, "x");
}

TEST_F(TimelineTest, NamesThatAreNotUtf8GiveValidJson) {
  Add("lane\xff", "a\"\xff\n", 0, 1);
  EXPECT_EQ(Names(timeline_.Json()), (std::vector<std::string>{"a\"\xef\xbf\xbd\n"}));
}

TEST_F(TimelineTest, EventsBeyondTheLimitAreCounted) {
  for (size_t i = 0; i < Timeline::kMaxEvents + 5; ++i) {
    timeline_.Add("l", "x", start_, start_);
  }
  const std::string text = timeline_.Json();
  EXPECT_NE(text.find("\"dropped_events\":5"), std::string::npos) << text.substr(0, 200);
}

TEST_F(TimelineTest, ThreadsWriteAtTheSameTime) {
  const int kEvents = 2000;
  const auto write = [&](const char* own_lane) {
    for (int i = 0; i < kEvents; ++i) {
      Add(own_lane, "x", 2 * i, 2 * i + 1);
      Timeline::Span span(&timeline_, lane::kUpdate, "u");
    }
  };
  std::thread communication(write, lane::kBucketTransfer);
  std::thread compute(write, lane::kBackward);
  for (int i = 0; i < 4; ++i) {
    timeline_.SetStep(100 + i % 2);
    EXPECT_FALSE(Json::parse(timeline_.Json()).empty());
  }
  communication.join();
  compute.join();
  std::map<std::string, int> counts;
  for (const Json& event : Events(timeline_.Json())) ++counts[event.at("cat")];
  EXPECT_EQ(counts,
            (std::map<std::string, int>{
                {"bucket transfer", kEvents}, {"backward", kEvents}, {"update", 2 * kEvents}}));
}

TEST_F(TimelineTest, MergedRanksShareOneClockThatStartsAtTheFirstEvent) {
  Timeline other(4, "b", {100, 100});
  other.SetStep(100);
  Add(lane::kForward, "later", 500, 600);
  other.Add(lane::kForward, "earlier", start_, start_ + microseconds(100));
  const std::string text = MergeTimelines({timeline_.Json(), other.Json()});
  std::map<std::string, Json> events;
  for (const Json& event : Events(text)) events[event.at("name")] = event;
  EXPECT_EQ(events.at("later").at("pid"), 3);
  EXPECT_EQ(events.at("earlier").at("pid"), 4);
  EXPECT_LT(events.at("earlier").at("ts").get<double>(), 1);
  // The ranks read the clocks at different times; a host's two clocks agree much better than this.
  EXPECT_NEAR(events.at("later").at("ts").get<double>(), 500, 100);
  EXPECT_EQ(events.at("later").at("dur"), 100.0);
  EXPECT_EQ(Lanes(text, 3), std::vector<std::string>{"forward"});
  EXPECT_EQ(Lanes(text, 4), std::vector<std::string>{"forward"});
}

TEST_F(TimelineTest, RanksWithoutEventsMergeToo) {
  Timeline idle(0, "a", {});
  Add(lane::kForward, "x", 0, 1);
  EXPECT_EQ(Names(MergeTimelines({idle.Json(), "", timeline_.Json()})),
            std::vector<std::string>{"x"});
  EXPECT_TRUE(Names(MergeTimelines({idle.Json()})).empty());
  EXPECT_TRUE(Json::parse(MergeTimelines({})).at("traceEvents").empty());
}

TEST(StepRangeTest, ReadsARangeOrOneStep) {
  const StepRange range = ParseStepRange("100:110");
  EXPECT_EQ(range.first, 100);
  EXPECT_EQ(range.last, 110);
  EXPECT_EQ(ParseStepRange("0").first, 0);
  EXPECT_EQ(ParseStepRange("7").last, 7);
  EXPECT_EQ(ParseStepRange("7:7").last, 7);
}

TEST(StepRangeTest, RefusesNonsense) {
  for (const char* text : {"", ":", "a", "1:", ":1", "-1:3", "1-3", "1:2:3", "1.5:2", " 1:2", "+1",
                           "110:100", "99999999999999999999:1", "1:2x"}) {
    try {
      ParseStepRange(text);
      FAIL() << "accepted: " << text;
    } catch (const UserError& e) {
      const std::string message = e.what();
      EXPECT_EQ(message.find("--timeline_steps"), 0u) << message;
      EXPECT_NE(message.find(std::string("\"") + text + "\""), std::string::npos) << message;
    }
  }
}

}  // namespace
}  // namespace gf
