#pragma once

#include <nlohmann/json.hpp>

#include "solvers/estimate/step_estimate.h"

namespace gf {

// Prints what a step costs by kind of operation, with its times on the estimate's GPU, and with
// `layers` by layer. Returns the same figures.
nlohmann::ordered_json ReportCost(const StepEstimate& step, const std::string& compute,
                                  const std::string& solver, bool layers);

}  // namespace gf
