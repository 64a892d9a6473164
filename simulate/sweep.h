#pragma once

#include <string>
#include <vector>

#include "simulate/sweep_axes.h"

namespace gf {

struct SweepPoint {
  std::vector<std::string> values;  // one per axis
  RunResult run;
  std::string refusal;  // why the combination cannot be trained; empty if `run` holds its result
};

// Simulates every combination; the first axis is the innermost loop. A combination that the rules
// of jobs or the cluster refuse keeps the reason. Throws UserError if that is the case for all, and
// for a value that its field cannot hold.
std::vector<SweepPoint> RunSweep(const SimulatedJob& job, const std::vector<SweepAxis>& axes);

// The first of `points` that is not refused.
const RunResult& FirstRun(const std::vector<SweepPoint>& points);

// What a user is told about refused points, with the reason of the first; empty if there are none.
std::string RefusedPoints(const std::vector<SweepAxis>& axes,
                          const std::vector<SweepPoint>& points);

// The names of the axes that change neither times nor traffic at any point, nor which combinations
// are refused.
std::vector<std::string> AxesWithoutEffect(const std::vector<SweepAxis>& axes,
                                           const std::vector<SweepPoint>& points);

// A header and one line per point that is not refused; gfreport draws the file. Times are in
// seconds, traffic is in bytes per step. If the price of a node is known, it has the training's
// cost.
std::string SweepCsv(const std::vector<SweepAxis>& axes, const std::vector<SweepPoint>& points);

}  // namespace gf
