#pragma once

#include <string>
#include <vector>

#include "simulate/job_run.h"

namespace gf {

// One thing that a sweep changes: "ranks", or a field of the job's config.
struct SweepAxis {
  std::string name;                 // as the user wrote it
  std::string field;                // "comm.mode"; empty for ranks; theta stands for two fields
  std::vector<std::string> values;  // of which none is empty
  bool numbers = false;             // all values are numbers
};

// "ranks=1..4096 comm.mode=LAZY,SPARSE": one or two axes. A..B doubles; K, M and G (of theta) are
// powers of 1024. Short names: theta (threshold_first and threshold_middle, in bytes), density,
// algorithm, mode. Throws UserError.
std::vector<SweepAxis> ParseSweep(const std::string& text);

struct SweepPoint {
  std::string x, series;  // values of the first axis and (or "") of the second
  RunResult run;
};

// Every combination, the second axis outermost. Throws UserError.
std::vector<SweepPoint> RunSweep(const SimulatedJob& job, const std::vector<SweepAxis>& axes);

// A header and a line per point, which gfreport draws. Times in seconds, traffic in bytes per step.
std::string SweepCsv(const std::vector<SweepAxis>& axes, const std::vector<SweepPoint>& points);

}  // namespace gf
