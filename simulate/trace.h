#pragma once

#include <string>

#include "simulate/job_run.h"

namespace gf {

// A simulated step in the form in which real runs write their timelines
// (core/telemetry/timeline.h), for the first `ranks` ranks. The lanes after backward are those of
// the slowest rank.
std::string TraceJson(const StepResult& step, const NodeConfig& node, int ranks,
                      const std::string& layer_times);

}  // namespace gf
