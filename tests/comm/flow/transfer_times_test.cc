#include "comm/flow/transfer_times.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace gf {
namespace {

// A collective of two seconds that the step waited for during the last half second.
TransferSpan Span(int begin_s) {
  const auto at = [&](int milliseconds) {
    return TransferSpan::TimePoint() + std::chrono::milliseconds(1000 * begin_s + milliseconds);
  };
  return {at(0), at(2000), at(1500), at(2000)};
}

TEST(TransferTimesTest, SumsAreTakenOnce) {
  TransferTimes times(nullptr);
  times.Awaited("p0", 8, /*in_step=*/true);
  times.Awaited("p1", 8, /*in_step=*/true);
  times.Add({Span(0), Span(2)});
  const TransferTimes::Sums sums = times.Take();
  EXPECT_EQ(sums.exposed_s, 1);
  EXPECT_EQ(sums.transfer_s, 4);
  EXPECT_EQ(times.Take().exposed_s, 0);
  EXPECT_EQ(times.Take().transfer_s, 0);
}

TEST(TransferTimesTest, CollectivesBetweenStepsDoNotCount) {
  TransferTimes times(nullptr);
  times.Awaited("momentum", 8, /*in_step=*/false);
  times.Awaited("p0", 8, /*in_step=*/true);
  times.Add({Span(0), Span(2)});
  EXPECT_EQ(times.Take().transfer_s, 2);
}

TEST(TransferTimesTest, LateSpansBelongToTheStepThatAwaitedThem) {
  Timeline timeline(0, "host", {1, 2});
  TransferTimes times(&timeline);
  timeline.SetStep(1);
  times.Awaited("p0", 8, /*in_step=*/true);
  timeline.SetStep(2);
  times.Add({Span(0)});
  int events = 0;
  const auto trace = nlohmann::json::parse(timeline.Json());
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    ++events;
    EXPECT_EQ(event.at("name"), "p0");
    EXPECT_EQ(event.at("args").at("step"), 1);
  }
  EXPECT_EQ(events, 2);
}

}  // namespace
}  // namespace gf
