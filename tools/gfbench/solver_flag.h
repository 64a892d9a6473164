#pragma once

#include <gflags/gflags_declare.h>

#include <string>

DECLARE_string(solver);

namespace gf {

// What --solver says, `otherwise` if it is not given.
std::string SolverOfFlag(const std::string& otherwise);

}  // namespace gf
