#include "comm/tuner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "comm/collective_runner.h"
#include "core/error.h"

namespace gf {
namespace {

using Clock = std::chrono::steady_clock;

// What MPI brings, see Note [Algorithms by name].
constexpr char kNative[] = "native", kMpi[] = "mpi";
constexpr int kRuns = 3;
// Below: few messages; above: few bytes. For jobs that must not measure.
constexpr int64_t kSmall = int64_t{64} << 10;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

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
  if (plan && !registry.Has(name)) {
    ThrowUserError("comm.algorithm: unknown algorithm \"", name, "\" (known: auto, mpi, native, ",
                   registry.Names(), ")");
  }
  if (plan && comm->size() > 1 &&
      !registry.Create("comm.algorithm", name)->Fits(TopologyOf(comm->hosts()))) {
    ThrowUserError("comm.algorithm: ", name, " does not fit ", comm->size(),
                   " ranks on these hosts; set auto");
  }
  winners_ = {{1, name, 0}};
}

void AlgorithmChoice::Measure(int64_t largest, DType dtype, DType wire, Communicator* comm) {
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
  const auto start = Clock::now();
  for (int64_t bytes = 1 << 10;; bytes *= 8) {
    bytes = std::min(bytes, std::max<int64_t>(largest, 1 << 10));
    const int64_t count = bytes / static_cast<int64_t>(SizeOf(wire));
    std::vector<char> vector(count * SizeOf(dtype));
    std::vector<double> times;
    for (const std::string& name : candidates) {
      double best = std::numeric_limits<double>::infinity();
      for (int i = 0; i < kRuns; ++i) {
        comm->Barrier("measuring algorithms");
        const auto begin = Clock::now();
        comm->Run({Collective::kAllReduce, vector.data(), count, dtype, wire, name},
                  StrCat("measuring ", name));
        best = std::min(best, SecondsSince(begin));
      }
      times.push_back(best);
    }
    times.push_back(SecondsSince(start));
    comm->AllReduce(times.data(), static_cast<int64_t>(times.size()), ReduceOp::kMax,
                    "times of algorithms");
    const double elapsed = times.back();
    times.pop_back();
    const size_t best = std::min_element(times.begin(), times.end()) - times.begin();
    winners_.push_back({bytes, candidates[best], times[best]});
    std::vector<std::string> fast;
    for (size_t i = 0; i < candidates.size(); ++i) {
      if (times[i] <= 2 * times[best]) fast.push_back(candidates[i]);
    }
    candidates = std::move(fast);
    if (bytes >= largest || elapsed > kBudget_s) break;
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
