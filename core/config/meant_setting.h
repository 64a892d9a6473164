#pragma once

#include <string>

namespace gf {

// The path of the job's setting that has this name, or that other programs call by it:
// "solver.base_lr" for "base_lr" and for "lr". "" if there is none, or if it is in a repeated
// block.
std::string MeantSetting(const std::string& name);

}  // namespace gf
