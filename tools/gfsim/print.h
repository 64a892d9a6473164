#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "simulate/job_run.h"
#include "simulate/measured_run.h"
#include "simulate/suggest.h"
#include "simulate/sweep.h"

namespace gf {

// A remark under tables of jobs whose steps change.
constexpr char kFirstPhase[] =
    "steps, images/s and efficiency: of each job's first phase; training: of all phases";

// What a simulated job comes to, as tables for people.
void PrintRun(const SimulatedJob& job, const NetModel& net, const RunResult& run, FILE* out);

// The job as it is and the best `count` suggestions that make its step shorter.
void PrintSuggestions(const std::vector<Suggestion>& all, size_t count, FILE* out);

// A row per point of a sweep.
void PrintSweep(const std::vector<SweepAxis>& axes, const std::vector<SweepPoint>& points,
                FILE* out);

// A measured and a simulated step side by side.
void PrintCompared(const MeasuredRun& measured, const RunResult& simulated, FILE* out);

// A double in a printf format.
std::string Formatted(const char* format, double value);

}  // namespace gf
