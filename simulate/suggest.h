#pragma once

#include <string>
#include <vector>

#include "simulate/job_run.h"

namespace gf {

// Settings of a job, as values of --set, and what they come to.
struct Suggestion {
  std::vector<std::string> settings;
  RunResult run;
};

// Tries thresholds, algorithms, overlap of update and communication on the job's ranks. What
// changes the results of training (the mode, the density) is left as the config has it. Best first.
std::vector<Suggestion> Suggest(const SimulatedJob& job);

}  // namespace gf
