#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "solvers/tally.h"

namespace gf {

// The result of gfeval.
struct EvaluationReport {
  std::string weights, data;  // where they came from
  Tally tally;
  std::vector<std::string> class_names;  // one per class of the data, or none
  double seconds = 0;
};

// For people: one block of figures, and with `per_class` a line for each class.
void PrintEvaluation(const EvaluationReport& report, bool per_class, FILE* out);

// As JSON, classes included. Throws UserError if the file cannot be written.
void WriteEvaluation(const EvaluationReport& report, const std::string& file);

}  // namespace gf
