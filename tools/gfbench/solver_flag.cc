#include "tools/gfbench/solver_flag.h"

#include <gflags/gflags.h>

DEFINE_string(solver, "", "SGD, LARS, LARC or LAMB");

namespace gf {

const char kSolverFlagFile[] = __FILE__;

std::string SolverOfFlag(const std::string& otherwise) {
  return FLAGS_solver.empty() ? otherwise : FLAGS_solver;
}

}  // namespace gf
