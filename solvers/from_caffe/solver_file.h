#pragma once

#include <string>

#include "core/config/places.h"
#include "core/config/solver.pb.h"

namespace gf {

// A parsed Caffe solver.
struct SolverFile {
  std::string path;
  SolverParameter param;
  Places places;  // of its fields in the file
};

// Reads a solver.prototxt of BVLC's or NVIDIA's Caffe. Throws UserError "file:line:col: what" for
// mistakes and for what is not supported, such as L1 regularization.
SolverFile ReadSolverFile(const std::string& path);

// The update rule by its name in `type`, which the older solver_type may give.
std::string TypeOf(const SolverParameter& solver);

// Whether the file has fields that only NVIDIA's Caffe has.
bool IsNvidias(const SolverParameter& solver);

}  // namespace gf
