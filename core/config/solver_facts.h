#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gf {

// What is true of a type of solver on every device and with any settings. A new solver adds a row
// to the table in solver_facts.cc.
struct SolverFacts {
  // What the norms of whole tensors are of, without which the weights cannot change.
  enum Norms {
    kNoNorms,
    kOfGradients,   // of weights and gradients
    kOfDirections,  // of weights and of the directions that the new state gives
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
// reads what it needs once and writes what it changes. `gradient`: bytes of a gradient, and of the
// compute weights, which are a copy unless they are FP32.
int64_t UpdateBytes(const SolverFacts& solver, int64_t gradient);

}  // namespace gf
