#pragma once

#include <string>

#include "simulate/job_run.h"

namespace gf {

// A simulated step in the format of the timelines of real runs (core/telemetry/timeline.h), for the
// first `ranks` ranks. After backward, all ranks show the lanes of the slowest rank.
std::string TraceJson(const StepResult& step, const NodeConfig& node, int ranks,
                      const std::string& layer_times);

}  // namespace gf
