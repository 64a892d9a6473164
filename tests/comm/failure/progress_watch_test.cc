#include "comm/failure/progress_watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

namespace gf {
namespace {

using Clock = std::chrono::steady_clock;

// A device with operations that tests end by hand.
struct FakeDevice {
  std::atomic<int> ready{0}, done{0};  // how many are
  std::atomic<bool> broken{false};
  std::atomic<int> aborts{0};

  ProgressWatch::Transport transport() {
    return {[this] { return broken ? std::string("the link is down") : std::string(); },
            [this] { ++aborts; }};
  }
  ProgressWatch::Operation Operation(int i) {
    return {"sum " + std::to_string(i), [this, i] { return ready > i; },
            [this, i] { return done > i; }};
  }
};

std::string FailureWithin(const ProgressWatch& watch, double seconds) {
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (watch.failure().empty() && Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return watch.failure();
}

TEST(ProgressWatchTest, WhatGetsOnIsLeftAlone) {
  FakeDevice device;
  ProgressWatch watch(1, device.transport());
  device.ready = 6;
  for (int i = 0; i < 6; ++i) watch.Add(device.Operation(i));
  for (int i = 0; i < 6; ++i) {  // longer than the limit in all
    std::this_thread::sleep_for(std::chrono::milliseconds(250));
    ++device.done;
  }
  watch.Drain();
  EXPECT_EQ(watch.failure(), "");
  EXPECT_EQ(device.aborts, 0);
}

TEST(ProgressWatchTest, WhatMakesNoProgressIsAbortedAndNamed) {
  FakeDevice device;
  ProgressWatch watch(0.3, device.transport());
  device.ready = 3;
  device.done = 1;
  for (int i = 0; i < 3; ++i) watch.Add(device.Operation(i));
  const auto start = Clock::now();
  EXPECT_EQ(FailureWithin(watch, 10), "sum 1: no progress for 0.3 s");
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(250));
  watch.Drain();  // nobody waits for what was aborted
  EXPECT_EQ(device.aborts, 1);
}

TEST(ProgressWatchTest, TimeCountsFromWhenTheRanksOwnWorkIsDone) {
  FakeDevice device;
  ProgressWatch watch(0.2, device.transport());
  watch.Add(device.Operation(0));
  EXPECT_EQ(FailureWithin(watch, 0.6), "");
  device.ready = 1;
  EXPECT_NE(FailureWithin(watch, 10), "");
}

TEST(ProgressWatchTest, AnErrorOfTheTransportIsKept) {
  FakeDevice device;
  ProgressWatch watch(60, device.transport());
  device.ready = 1;
  watch.Add(device.Operation(0));
  device.broken = true;
  EXPECT_EQ(FailureWithin(watch, 10), "sum 0: the link is down");
  EXPECT_EQ(device.aborts, 1);
}

TEST(ProgressWatchTest, AnErrorBehindTheLastOperationIsSeenByDrain) {
  FakeDevice device;
  ProgressWatch watch(60, device.transport());
  device.broken = true;
  device.ready = device.done = 1;
  watch.Add(device.Operation(0));
  watch.Drain();
  EXPECT_NE(watch.failure().find("the link is down"), std::string::npos) << watch.failure();
}

TEST(ProgressWatchTest, AnErrorOfTheDeviceItselfIsKept) {
  FakeDevice device;
  ProgressWatch watch(60, device.transport());
  watch.Add({"sum", [] { return true; },
             []() -> bool { throw std::runtime_error("the GPU has fallen off the bus"); }});
  EXPECT_EQ(FailureWithin(watch, 10), "sum: the GPU has fallen off the bus");
  EXPECT_EQ(device.aborts, 1);
}

}  // namespace
}  // namespace gf
