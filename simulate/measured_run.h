#pragma once

#include <string>

namespace gf {

// What a run's log says about its steps: medians over the progress lines since the last start,
// without the first one, whose steps build and measure.
struct MeasuredRun {
  int ranks = 1;
  double images_per_step = 0;                    // of all ranks
  double step_s = 0, exposed_s = 0, data_s = 0;  // seconds per step
  int lines = 0;                                 // progress lines that counted
};

// The log of a run: `path` itself, or log.jsonl if it is a run's folder.
std::string LogOf(const std::string& path);
// The resolved config beside a log.
std::string ConfigBeside(const std::string& log);

// Reads a log (JSON lines, see docs/observability.md). Throws UserError "log:line: what".
MeasuredRun ReadMeasuredRun(const std::string& log);

}  // namespace gf
