#pragma once

#include <cstdio>
#include <vector>

#include "simulate/job_run.h"
#include "simulate/suggest.h"

namespace gf {

// What a simulated job comes to, as tables for people.
void PrintRun(const SimulatedJob& job, const NetModel& net, const RunResult& run, FILE* out);

// The job as it is and the best `count` suggestions.
void PrintSuggestions(const std::vector<Suggestion>& all, size_t count, FILE* out);

}  // namespace gf
