#pragma once

#include <string>
#include <vector>

#include "simulate/sweep_axes.h"

namespace gf {

struct SweepPoint {
  std::vector<std::string> values;  // one per axis
  RunResult run;
};

// Simulates every combination; the first axis is the innermost loop. Throws UserError.
std::vector<SweepPoint> RunSweep(const SimulatedJob& job, const std::vector<SweepAxis>& axes);

// The names of the axes that change neither times nor traffic at any point.
std::vector<std::string> AxesWithoutEffect(const std::vector<SweepAxis>& axes,
                                           const std::vector<SweepPoint>& points);

// A header and one line per point; gfreport draws the file. Times are in seconds, traffic is in
// bytes per step. If the price of a node is known, it has the training's cost.
std::string SweepCsv(const std::vector<SweepAxis>& axes, const std::vector<SweepPoint>& points);

}  // namespace gf
