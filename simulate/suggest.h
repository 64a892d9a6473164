#pragma once

#include <string>
#include <vector>

#include "simulate/job_run.h"

namespace gf {

// Settings of a job, as values of --set, and their simulated result.
struct Suggestion {
  std::vector<std::string> settings;
  RunResult run;
};

// Tries thresholds, algorithms, and overlap of update and communication on the job's number of
// ranks. Settings that change the results of training (mode, density) stay as in the config.
// Returns the best suggestion first.
std::vector<Suggestion> Suggest(const SimulatedJob& job);

}  // namespace gf
