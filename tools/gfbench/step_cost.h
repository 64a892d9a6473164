#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "solvers/estimate/step_estimate.h"

namespace gf {

// Of what step the cost is, for its heading.
struct CostSettings {
  std::string compute, solver;
  bool allow_tf32 = false, fuse = true, recompute = false, forward_only = false;
};

// Prints what a step costs by kind of operation, with its times on the estimate's GPU, and with
// `layers` by layer. Returns the same figures.
nlohmann::ordered_json ReportCost(const StepEstimate& step, const CostSettings& settings,
                                  bool layers);

}  // namespace gf
