#pragma once

#include "core/config/job.pb.h"
#include "solvers/from_caffe/solver_file.h"

namespace gf {

// Writes into a job what a solver says about updates, the length of training, tests, checkpoints
// and progress; docs/coming_from_caffe.md lists the fields. Relative paths stay as they are.
void TranslateSolver(const SolverFile& file, JobConfig* job);

// Whether the solver tests its net during training.
bool Tests(const SolverParameter& solver);

}  // namespace gf
