#include "comm/flow/threshold_choice.h"

#include <gtest/gtest.h>

#include <string>

namespace gf {
namespace {

constexpr int kEntries = 100;
constexpr int64_t kCount = 32 << 10;  // elements per entry

PoolLayout EqualEntries() {
  PoolLayout layout;
  for (int i = 0; i < kEntries; ++i) {
    PoolEntry entry;
    entry.name = std::to_string(i);
    entry.shape = Shape{kCount};
    layout.Add(entry);
  }
  return layout;
}

// Ready one after the other, the last one at the end.
BackwardTimes EvenTimes(double end) {
  BackwardTimes times;
  for (int i = 0; i < kEntries; ++i) times.ready.push_back(end * (i + 1) / kEntries);
  times.end = end;
  return times;
}

// A network of so many seconds per message and bytes per second.
std::function<double(int64_t)> Network(double latency, double rate) {
  return [=](int64_t bytes) { return latency + static_cast<double>(bytes) / rate; };
}

std::vector<Bucket> Choose(const BackwardTimes& times, const std::function<double(int64_t)>& net) {
  const PoolLayout layout = EqualEntries();
  return CutBuckets(layout, 4, BestThresholds(layout, 4, times, net));
}

TEST(ThresholdChoiceTest, PredictionIsTheQueueOfBuckets) {
  const PoolLayout layout = EqualEntries();
  const std::vector<Bucket> buckets = CutBuckets(layout, 4, {0, 98 * kCount * 4, 0});
  ASSERT_EQ(buckets.size(), 3u);
  BackwardTimes times = EvenTimes(100);
  // Ready at 1, 99 and 100; each takes 10 s.
  EXPECT_DOUBLE_EQ(PredictEnd(layout, buckets, 4, times, Network(10, 1e30)), 119);
  times.end = 500;
  EXPECT_DOUBLE_EQ(PredictEnd(layout, buckets, 4, times, Network(10, 1e30)), 500);
}

TEST(ThresholdChoiceTest, LatencyMakesFewBuckets) {
  const auto buckets = Choose(EvenTimes(0.1), Network(50e-3, 1e9));
  EXPECT_LE(buckets.size(), 4u);
}

TEST(ThresholdChoiceTest, WithoutLatencyTheTailIsShort) {
  const auto buckets = Choose(EvenTimes(0.1), Network(0, 2e8));
  EXPECT_GT(buckets.size(), 4u);
  EXPECT_LE(buckets.back().count, 4 * kCount);
}

TEST(ThresholdChoiceTest, NoneIsBetterThanTheChosenOne) {
  const PoolLayout layout = EqualEntries();
  for (double latency : {1e-5, 1e-3, 1e-2}) {
    for (double rate : {1e8, 1e9}) {
      const BackwardTimes times = EvenTimes(0.05);
      const auto net = Network(latency, rate);
      const double chosen = PredictEnd(
          layout, CutBuckets(layout, 4, BestThresholds(layout, 4, times, net)), 4, times, net);
      for (int64_t middle : {0, 1 << 18, 1 << 22, 1 << 30}) {
        const auto other = CutBuckets(layout, 4, {middle, middle, middle});
        EXPECT_LE(chosen, 1.01 * PredictEnd(layout, other, 4, times, net));
      }
    }
  }
}

}  // namespace
}  // namespace gf
