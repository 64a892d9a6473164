#pragma once

#include <string>

namespace gf {

// What stands in a job for a field of Caffe's solver or data layer, "solver.max_steps" for
// "max_iter", as the end of a sentence: "max_iter is solver.max_steps here". "" for other words.
std::string CaffeFieldHere(const std::string& field);

// What to write in place of a solver of Caffe or PyTorch as solver.type, in any case; "" for other
// fields and values.
std::string OtherSolverHere(const std::string& field, const std::string& value);

// Whether Caffe's solver, not its data layer, has the field.
bool IsCaffeSolverField(const std::string& field);

}  // namespace gf
