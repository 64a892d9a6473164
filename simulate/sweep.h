#pragma once

#include <string>
#include <vector>

#include "simulate/job_run.h"

namespace gf {

// A variable of a sweep: "ranks", or a field of the job's config.
struct SweepAxis {
  std::string name;                 // as the user wrote it
  std::string field;                // "comm.mode"; empty for ranks; "theta" sets two fields
  std::vector<std::string> values;  // none is empty
  bool numbers = false;             // whether all values are numbers
};

// Parses one or two axes: "ranks=1..4096 comm.mode=LAZY,SPARSE". A..B doubles from A to B; the
// suffixes K, M and G (for theta) are powers of 1024. Short names: theta (threshold_first and
// threshold_middle, in bytes), density, algorithm, mode. Throws UserError.
std::vector<SweepAxis> ParseSweep(const std::string& text);

struct SweepPoint {
  std::string x, series;  // values of the first and second axis; series is "" without a second
  RunResult run;
};

// Simulates every combination; the second axis is the outer loop. Throws UserError.
std::vector<SweepPoint> RunSweep(const SimulatedJob& job, const std::vector<SweepAxis>& axes);

// A header and one line per point; gfreport draws the file. Times are in seconds, traffic is in
// bytes per step.
std::string SweepCsv(const std::vector<SweepAxis>& axes, const std::vector<SweepPoint>& points);

}  // namespace gf
