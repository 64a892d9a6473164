#include "solvers/solver.h"

#include <glog/logging.h>

#include <set>
#include <vector>

#include "core/config/job_checks.h"
#include "core/config/nearest.h"
#include "core/error.h"

namespace gf {
namespace {

// The types of one device ("cpu/"), or of all.
std::vector<std::string> Types(const std::string& prefix) {
  std::set<std::string> types;
  for (const std::string& name : SolverRegistry::Get().Keys()) {
    if (name.rfind(prefix, 0) == 0) types.insert(name.substr(name.find('/') + 1));
  }
  return {types.begin(), types.end()};
}

const bool offered = OfferNames("SolverConfig.type", [] { return Types(""); });

}  // namespace

void Solver::SetCarried(const std::vector<bool>& entries) {
  CHECK(entries.empty()) << "this solver has no velocity to leave out";
}

void Solver::StepAhead(const Tensor& residual, const std::vector<ElementRange>& ranges, double lr,
                       double scale) {
  LOG(FATAL) << "this solver has no weights that are ahead";
}

std::unique_ptr<Solver> NewSolver(const std::string& what, const std::string& type,
                                  const SolverConfig& config, ParameterStore* store) {
  CheckUpdate(config, type, "solver");
  const SolverRegistry& registry = SolverRegistry::Get();
  const std::string prefix = store->device()->name() + "/";
  if (registry.Has(prefix + type)) return registry.Create(what, prefix + type, config, store);
  ThrowUserError("unknown ", what, " \"", type, "\"", Suggestion(type, Types(prefix)));
}

}  // namespace gf
