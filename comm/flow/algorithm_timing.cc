#include "comm/flow/algorithm_timing.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "comm/executor.h"
#include "core/error.h"
#include "core/median.h"

namespace gf {
namespace {

// Sizes that are measured where the largest message is not shorter.
constexpr int64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr int64_t kSizes[] = {kKiB, 4 * kKiB, 16 * kKiB, Executor::kMessage, 64 * kKiB, 256 * kKiB,
                              kMiB, 4 * kMiB, 8 * kMiB};
// Bytes decide from here on; and all sizes up to here are measured, however long it takes (within
// kLongest_s), because links behave in their own ways under longer messages.
constexpr int64_t kManyBytes = 256 * kKiB, kEnoughBytes = 4 * kMiB;
// Rounds, in which each algorithm runs once: the longer they take, the less they are disturbed.
// After kSizeBudget_s no more than the least are begun for a size.
constexpr int kLeastRounds = 3, kLeastLongRounds = 2, kMostRounds = 25;
constexpr double kLongRound_s = 0.25, kVeryLongRound_s = 2, kSizeBudget_s = 0.1;
// Runs one after the other that are timed together, as buckets follow each other: up to kShort
// bytes, where a run takes little more than the start of all ranks, and up to kManyBytes. On links
// with a long latency one run is enough.
constexpr int64_t kShort = 64 * kKiB;
constexpr double kShort_s = 5e-3;
constexpr int kShortRuns = 4, kLongRuns = 2;
// An algorithm that is expected to take more than this multiple of the best one's time does not
// run: up to kManyBytes, where it may only be unlucky, and above.
constexpr double kFewBytesMargin = 2, kManyBytesMargin = 1.4;
// A size up to kEnoughBytes may take longer than the budget, but not longer than this.
constexpr double kLongest_s = 10;

// The mean over all algorithms of their times, as a multiple of the best one's.
constexpr double kTypical = 1.5;

// Adds nothing: the measurement times only the transfer of the codes.
class NoSum : public EncodedSum {
 public:
  void OnHost(float*) const override {}
  void OnDevice(float*, Stream*) const override {}
};

int LeastRounds(double round_s) {
  if (round_s > kVeryLongRound_s) return 1;
  return round_s > kLongRound_s ? kLeastLongRounds : kLeastRounds;
}

}  // namespace

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<double> AlgorithmTiming::Slowest(std::vector<double> seconds) const {
  comm_->AllReduce(seconds.data(), static_cast<int64_t>(seconds.size()), ReduceOp::kMax,
                   "times of algorithms");
  return seconds;
}

std::vector<std::string> AlgorithmTiming::Contestants(int64_t bytes, bool all,
                                                      double elapsed_s) const {
  std::map<std::string, double> expected;
  double best = 0;
  for (const auto& [name, curve] : curves_) {
    if (curve.empty()) continue;
    const double seconds = curve.Seconds(bytes);
    best = expected.empty() ? seconds : std::min(best, seconds);
    expected[name] = seconds;
  }
  const double margin = bytes > kManyBytes ? kManyBytesMargin : kFewBytesMargin;
  const double budget_s = bytes > kEnoughBytes ? kBudget_s - elapsed_s : kLongest_s;
  // What one size of an algorithm says of others is little more than its latency.
  const double all_s = kTypical * best * static_cast<double>(curves_.size());
  if (all && LeastRounds(all_s) * all_s <= budget_s) {
    std::vector<std::string> names;
    for (const auto& [name, curve] : curves_) names.push_back(name);
    return names;
  }
  std::vector<std::string> names;
  double round_s = 0;
  for (const auto& [name, seconds] : expected) {
    if (seconds > margin * best) continue;
    names.push_back(name);
    round_s += seconds;
  }
  if (LeastRounds(round_s) * round_s > budget_s) names.clear();
  return names;
}

std::vector<double> AlgorithmTiming::Round(int64_t bytes, const std::vector<std::string>& names,
                                           int runs) {
  int64_t count = bytes / static_cast<int64_t>(SizeOf(wire_));
  const bool encoded = kind_ == Collective::kEncodedSum;
  if (encoded) count = (count + comm_->size() - 1) / comm_->size() * comm_->size() * 2;
  const auto sum = encoded ? std::make_shared<NoSum>() : nullptr;
  std::vector<char> vector(count * SizeOf(dtype_));
  std::vector<double> seconds;
  for (const std::string& name : names) {
    comm_->Barrier("measuring algorithms");
    const double begin = now_();
    for (int run = 0; run < runs; ++run) {
      Collective collective = {kind_, vector.data(), count, dtype_, wire_, name};
      collective.sum = sum;
      comm_->Run(collective, StrCat("measuring ", name));
    }
    seconds.push_back((now_() - begin) / runs);
  }
  return Slowest(std::move(seconds));
}

int AlgorithmTiming::RunsInARow(int64_t bytes) const {
  if (shortest_s_ > kShort_s || bytes > kManyBytes) return 1;
  return bytes <= kShort ? kShortRuns : kLongRuns;
}

void AlgorithmTiming::MeasureSize(int64_t bytes, const std::vector<std::string>& contestants) {
  std::vector<std::vector<double>> times(contestants.size());
  double elapsed = 0;
  for (int round = 0, least = 1; round < least; ++round) {
    const int runs = RunsInARow(bytes);
    const std::vector<double> seconds = Round(bytes, contestants, runs);
    for (size_t i = 0; i < contestants.size(); ++i) {
      times[i].push_back(seconds[i]);
      elapsed += runs * seconds[i];
    }
    least = elapsed < kSizeBudget_s ? kMostRounds : LeastRounds(elapsed / (round + 1));
  }
  for (size_t i = 0; i < contestants.size(); ++i) {
    curves_[contestants[i]].Add(bytes, Median(times[i]));
  }
}

AlgorithmTiming::Curves AlgorithmTiming::Measure(const std::vector<std::string>& algorithms,
                                                 int64_t largest) {
  curves_.clear();
  for (const std::string& name : algorithms) curves_[name];
  const double start = now_();
  largest = std::max(largest, kSizes[0]);
  // Ranks connect when they first talk to each other, so this round does not count.
  const std::vector<double> first = Round(kSizes[0], algorithms, 1);
  shortest_s_ = *std::min_element(first.begin(), first.end());
  for (const int64_t size : kSizes) {
    const int64_t bytes = std::min(size, largest);
    const bool all = bytes == kSizes[0] || bytes == std::min(largest, kManyBytes);
    const std::vector<std::string> contestants =
        Contestants(bytes, all, Slowest({now_() - start})[0]);
    if (contestants.empty()) break;
    // TCP has forgotten, or never learned, how fast the connections are that only some use.
    if (bytes == kManyBytes) Round(bytes, contestants, 1);
    MeasureSize(bytes, contestants);
    if (bytes == largest) break;
  }
  return curves_;
}

}  // namespace gf
