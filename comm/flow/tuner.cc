#include "comm/flow/tuner.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "comm/collective_runner.h"
#include "core/config/job_checks.h"
#include "core/error.h"
#include "core/median.h"
#include "core/readable.h"

namespace gf {
namespace {

// What MPI brings, see Note [Algorithms by name].
constexpr char kNative[] = "native", kMpi[] = "mpi";
// Rounds, in which each algorithm runs once, and the seconds after which no more are begun for a
// size.
constexpr int kLeastRounds = 3, kMostRounds = 25;
constexpr double kSizeBudget_s = 0.1;
// Runs one after the other that are timed together, as buckets follow each other, where a run takes
// little more than the start of all ranks.
constexpr int64_t kShort = int64_t{64} << 10;
constexpr int kShortRuns = 4;
// From here on bytes decide, not messages: what is slow now stays so.
constexpr int64_t kManyBytes = int64_t{512} << 10;
// Below: few messages; above: few bytes. For jobs that must not measure.
constexpr int64_t kSmall = int64_t{64} << 10;

std::vector<std::string> AlgorithmNames() {
  std::vector<std::string> names = AlgorithmRegistry::Get().Keys();
  names.insert(names.end(), {"auto", kNative, kMpi});
  std::sort(names.begin(), names.end());
  return names;
}
const bool offered = OfferNames("CommConfig.algorithm", AlgorithmNames);

}  // namespace

AlgorithmChoice::AlgorithmChoice(const CommConfig& config, bool deterministic, Communicator* comm) {
  const std::string& name = config.algorithm();
  const AlgorithmRegistry& registry = AlgorithmRegistry::Get();
  if (name == "auto") {
    automatic_ = !deterministic && comm->size() > 1;
    winners_ = {{kSmall, "recursive_doubling", 0}, {16 * kSmall, "ring", 0}};
    return;
  }
  const bool plan = name != kNative && name != kMpi;
  if (plan && comm->size() > 1 &&
      !registry.Create("comm.algorithm", name)->Fits(TopologyOf(comm->hosts()))) {
    ThrowUserError("comm.algorithm: ", name, " does not fit ", Counted(comm->size(), "rank"),
                   " on these hosts; set auto");
  }
  winners_ = {{1, name, 0}};
}

double AlgorithmChoice::SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void AlgorithmChoice::Measure(int64_t largest, DType dtype, DType wire, Communicator* comm,
                              const std::function<double()>& now) {
  if (!automatic_) return;
  const Topology topology = TopologyOf(comm->hosts());
  std::vector<std::string> candidates;
  for (const std::string& name : AlgorithmRegistry::Get().Keys()) {
    if (AlgorithmRegistry::Get().Create("algorithm", name)->Fits(topology)) {
      candidates.push_back(name);
    }
  }
  if (wire != DType::kFP16) candidates.push_back(kNative);

  winners_.clear();
  const double start = now();
  for (int64_t bytes = 1 << 10;; bytes *= 4) {
    bytes = std::min(bytes, std::max<int64_t>(largest, 1 << 10));
    const int64_t count = bytes / static_cast<int64_t>(SizeOf(wire));
    const int runs = bytes > kShort ? 1 : kShortRuns;
    std::vector<char> vector(count * SizeOf(dtype));
    const double size_start = now();
    std::vector<std::vector<double>> times(candidates.size());
    double elapsed = 0;
    for (int round = 0; round < kMostRounds && (round < kLeastRounds || elapsed < kSizeBudget_s);
         ++round) {
      std::vector<double> slowest;  // of the ranks, by candidate
      for (const std::string& name : candidates) {
        comm->Barrier("measuring algorithms");
        const double begin = now();
        for (int run = 0; run < runs; ++run) {
          comm->Run({Collective::kAllReduce, vector.data(), count, dtype, wire, name},
                    StrCat("measuring ", name));
        }
        slowest.push_back((now() - begin) / runs);
      }
      slowest.push_back(now() - size_start);
      comm->AllReduce(slowest.data(), static_cast<int64_t>(slowest.size()), ReduceOp::kMax,
                      "times of algorithms");
      elapsed = slowest.back();
      for (size_t i = 0; i < candidates.size(); ++i) times[i].push_back(slowest[i]);
    }
    std::vector<double> typical;
    for (const std::vector<double>& some : times) typical.push_back(Median(some));
    const size_t best = std::min_element(typical.begin(), typical.end()) - typical.begin();
    winners_.push_back({bytes, candidates[best], typical[best]});
    double total = now() - start;
    comm->AllReduce(&total, 1, ReduceOp::kMax, "time of the measurement");
    if (bytes >= largest || total > kBudget_s) break;
    if (bytes < kManyBytes) continue;
    std::vector<std::string> fast;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (typical[i] <= 2 * typical[best]) fast.push_back(candidates[i]);
    }
    candidates = std::move(fast);
  }
}

const std::string& AlgorithmChoice::For(int64_t bytes) const {
  const Winner* nearest = &winners_[0];
  const auto distance = [bytes](const Winner& winner) {
    return std::abs(std::log2(static_cast<double>(std::max<int64_t>(bytes, 1))) -
                    std::log2(static_cast<double>(winner.bytes)));
  };
  for (const Winner& winner : winners_) {
    if (distance(winner) < distance(*nearest)) nearest = &winner;
  }
  return nearest->algorithm;
}

double AlgorithmChoice::Seconds(int64_t bytes) const {
  const double b = static_cast<double>(bytes);
  if (bytes <= winners_.front().bytes) return winners_.front().seconds;
  for (size_t i = 1; i < winners_.size(); ++i) {
    const Winner &low = winners_[i - 1], &high = winners_[i];
    if (bytes > high.bytes) continue;
    const double share = (b - static_cast<double>(low.bytes)) / (high.bytes - low.bytes);
    return low.seconds + share * (high.seconds - low.seconds);
  }
  return winners_.back().seconds * b / static_cast<double>(winners_.back().bytes);
}

std::string AlgorithmChoice::Describe() const {
  std::string text;
  for (size_t i = 0; i < winners_.size(); ++i) {
    if (i + 1 < winners_.size() && winners_[i + 1].algorithm == winners_[i].algorithm) continue;
    if (!text.empty()) text += ", then ";
    text += winners_[i].algorithm;
    if (i + 1 < winners_.size()) {
      const double border = std::sqrt(static_cast<double>(winners_[i].bytes) *
                                      static_cast<double>(winners_[i + 1].bytes));
      text += StrCat(" to ", static_cast<int64_t>(border / 1024), " KiB");
    }
  }
  return automatic_ ? StrCat("auto: ", text) : text;
}

}  // namespace gf
