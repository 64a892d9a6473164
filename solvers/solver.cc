#include "solvers/solver.h"

#include "core/config/job_checks.h"
#include "core/error.h"

namespace gf {

std::unique_ptr<Solver> NewSolver(const std::string& what, const std::string& type,
                                  const SolverConfig& config, ParameterStore* store) {
  CheckUpdate(config, type, "solver");
  const SolverRegistry& registry = SolverRegistry::Get();
  const std::string prefix = store->device()->name() + "/";
  if (registry.Has(prefix + type)) return registry.Create(what, prefix + type, config, store);
  std::string names;
  for (const std::string& name : registry.Keys()) {
    if (name.rfind(prefix, 0) != 0) continue;
    names += (names.empty() ? "" : ", ") + name.substr(prefix.size());
  }
  ThrowUserError("unknown ", what, " \"", type, "\" (known: ", names, ")");
}

}  // namespace gf
