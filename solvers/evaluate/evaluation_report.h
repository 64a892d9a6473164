#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "solvers/evaluate/predictions.h"
#include "solvers/evaluate/tally.h"

namespace gf {

// The result of gfeval.
struct EvaluationReport {
  std::string weights, data;  // where they came from
  std::shared_ptr<const Tally> tally;
  std::vector<std::string> class_names;  // one per class or value of the data, or none
  double seconds = 0;
  std::vector<Confusion> confusions;  // those to report, most first
};

// For people: one block of figures, with `per_class` a line for each class or value, and the
// confusions.
void PrintEvaluation(const EvaluationReport& report, bool per_class, FILE* out);

// As JSON, classes included. Throws UserError if the file cannot be written.
void WriteEvaluation(const EvaluationReport& report, const std::string& file);

// A line "<where> <label> <predicted>" with tabs for each image that was not taken for its class;
// nan for scores that are no numbers. `where` and `label` are asked by the image's number. Throws
// UserError if the file cannot be written.
void WriteMisclassified(const Predictions& predictions,
                        const std::function<std::string(int64_t)>& where,
                        const std::function<int64_t(int64_t)>& label, const std::string& file);

}  // namespace gf
