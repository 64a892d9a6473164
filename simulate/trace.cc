#include "simulate/trace.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/error.h"
#include "core/telemetry/timeline.h"

namespace gf {
namespace {

// The name of the first span in a lane, which is the step's own.
std::string NameIn(const std::string& lane, const StepResult& step) {
  for (const Span& span : step.spans) {
    if (span.lane == lane) return span.name;
  }
  return lane;
}

}  // namespace

std::string TraceJson(const StepResult& step, const NodeConfig& node, int ranks,
                      const std::string& layer_times) {
  const Timeline::TimePoint start = Timeline::Clock::now();
  const auto at = [&](double seconds) {
    return start + std::chrono::duration_cast<Timeline::Clock::duration>(
                       std::chrono::duration<double>(seconds));
  };
  std::vector<std::string> texts;
  const auto& ends = step.backward_ends;
  const double slowest = ends.empty() ? 0 : *std::max_element(ends.begin(), ends.end());
  const int count = std::min(ranks, static_cast<int>(step.forward_ends.size()));
  for (int rank = 0; rank < count; ++rank) {
    Timeline timeline(rank, StrCat("node", rank / node.devices()), {0, 0});
    timeline.SetStep(0);
    timeline.Add(lane::kForward, NameIn(lane::kForward, step), at(0), at(step.forward_ends[rank]));
    timeline.Add(lane::kBackward, "backward", at(step.forward_ends[rank]),
                 at(step.backward_ends[rank]));
    for (const Span& span : step.spans) {
      if (span.lane == lane::kForward || span.lane == lane::kBackward) continue;
      // Ranks that are ready before the slowest rank wait longer.
      const bool first = span.lane == lane::kBucketWait && span.begin <= slowest;
      const double begin = first ? step.backward_ends[rank] : span.begin;
      timeline.Add(span.lane, span.name, at(begin), at(span.end),
                   span.bytes > 0 ? Timeline::Args{{"bytes", span.bytes}} : Timeline::Args());
    }
    texts.push_back(timeline.Json());
  }
  auto trace = nlohmann::ordered_json::parse(MergeTimelines(texts));
  trace["otherData"]["simulated"] = true;
  trace["otherData"]["layer_times"] = layer_times;
  return trace.dump();
}

}  // namespace gf
