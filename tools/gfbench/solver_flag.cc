#include "tools/gfbench/solver_flag.h"

#include <gflags/gflags.h>

DEFINE_string(solver, "", "the `SOLVER` that updates: SGD, LARS, LARC or LAMB");

namespace gf {

std::string SolverOfFlag(const std::string& otherwise) {
  return FLAGS_solver.empty() ? otherwise : FLAGS_solver;
}

}  // namespace gf
