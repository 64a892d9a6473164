#include "comm/flow/tuner.h"

#include <algorithm>
#include <cmath>

#include "comm/collective_runner.h"
#include "core/config/job_checks.h"
#include "core/config/nearest.h"
#include "core/error.h"
#include "core/readable.h"

namespace gf {
namespace {

// What MPI brings, see Note [Algorithms by name].
constexpr char kNative[] = "native", kMpi[] = "mpi";
// Winners are found for kSizesPerOctave sizes of each doubling, from 1 KiB on.
constexpr double kSmallest = 1024;
constexpr int kSizesPerOctave = 4;
// An algorithm replaces the winner of the next smaller size if it takes less than this part of its
// time.
constexpr double kBetter = 0.98;
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

void CheckAlgorithm(const std::string& what, const std::string& name) {
  const std::vector<std::string> names = AlgorithmNames();
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  ThrowUserError(what, ": unknown algorithm \"", name, "\" (known: ", Join(names), ")");
}

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

  Measured* const measured = &measured_[{dtype, wire}];
  if (largest > measured->largest) {
    *measured = {largest, AlgorithmTiming(dtype, wire, comm, now).Measure(candidates, largest)};
  }
  const AlgorithmTiming::Curves& curves = measured->curves;
  winners_.clear();
  for (int i = 0; winners_.empty() || winners_.back().bytes < largest; ++i) {
    const auto bytes = static_cast<int64_t>(kSmallest * std::exp2(1.0 * i / kSizesPerOctave));
    Winner best;
    for (const auto& [name, curve] : curves) {
      const double seconds = curve.Seconds(bytes);
      if (best.algorithm.empty() || seconds < best.seconds) best = {bytes, name, seconds};
    }
    if (!winners_.empty()) {
      const std::string& before = winners_.back().algorithm;
      const double seconds = curves.at(before).Seconds(bytes);
      if (best.seconds >= kBetter * seconds) best = {bytes, before, seconds};
    }
    winners_.push_back(best);
  }
}

const std::string& AlgorithmChoice::For(int64_t bytes) const {
  const double b = static_cast<double>(std::max<int64_t>(bytes, 1));
  const auto ratio = [b](const Winner& winner) {
    const double size = static_cast<double>(winner.bytes);
    return std::max(b / size, size / b);
  };
  return std::min_element(winners_.begin(), winners_.end(),
                          [&](const Winner& x, const Winner& y) { return ratio(x) < ratio(y); })
      ->algorithm;
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
