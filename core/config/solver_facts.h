#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/job.pb.h"
#include "core/pool_layout.h"

namespace gf {

// Facts about a type of solver, on every device and with any settings. A new solver adds a row to
// the table in solver_facts.cc.
struct SolverFacts {
  // An update first needs the norms of whole tensors: of these.
  enum Norms {
    kNoNorms,
    kOfGradients,   // of weights and gradients
    kOfDirections,  // of weights and of the directions that the new state gives
    kOfMatrices,    // of the directions of matrices, which it then multiplies
  };

  std::string type;                 // as solver.type names it
  std::vector<std::string> states;  // names of the FP32 pools that it keeps beside the weights
  Norms norms = kNoNorms;
  float epsilon = 0;                // the default of solver.epsilon
  bool divides_by_epsilon = false;  // where a state is 0: then epsilon must be more than 0
};

const std::vector<SolverFacts>& AllSolverFacts();

// By type; null if it is unknown.
const SolverFacts* FindSolverFacts(const std::string& type);
// By type. Throws UserError if it is unknown.
const SolverFacts& SolverFactsOf(const std::string& type);

// Bytes of memory per parameter that an update reads and writes at least: each pass over the pools
// reads its inputs once and writes its results. `gradient`: bytes of a gradient; a compute weight,
// which is a copy unless it is FP32, has as many.
int64_t UpdateBytes(const SolverFacts& solver, int64_t gradient);

// Whether an update by matrices (kOfMatrices) treats a parameter as a matrix. `adaptive`: as the
// last rule says that matches it and sets this field; true without one.
bool IsMatrix(const PoolEntry& entry, bool adaptive);

// Bytes of work memory of an update by matrices, for the largest one; 0 for other solvers.
// `layout`: of the trained parameters. `all_directions`: the directions of all parameters are in
// memory at a time, as on GPUs.
double MatrixMemory(const SolverConfig& config, const PoolLayout& layout, bool all_directions);

// The same and the solver's states.
double UpdateMemory(const SolverConfig& config, const PoolLayout& layout, bool all_directions);

// FLOPs of the products of matrices in one update; a multiply-add counts as two. `layout`: of the
// trained parameters.
double UpdateFlops(const SolverConfig& config, const PoolLayout& layout);

}  // namespace gf
