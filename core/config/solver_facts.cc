#include "core/config/solver_facts.h"

#include "core/config/nearest.h"
#include "core/error.h"

namespace gf {
namespace {

constexpr int64_t kFloat = sizeof(float);

}  // namespace

const std::vector<SolverFacts>& AllSolverFacts() {
  static const auto* const kFacts = new std::vector<SolverFacts>{
      {"SGD", {"momentum"}, SolverFacts::kNoNorms, 0, false},
      {"LARS", {"momentum"}, SolverFacts::kOfGradients, 0, false},
      {"LARC", {"momentum"}, SolverFacts::kOfGradients, 0, false},
      {"LAMB", {"mean", "variance"}, SolverFacts::kOfDirections, 1e-6f, true},
      {"Adam", {"mean", "variance"}, SolverFacts::kNoNorms, 1e-8f, true},
      {"AdamW", {"mean", "variance"}, SolverFacts::kNoNorms, 1e-8f, true},
      {"AdaGrad", {"squares"}, SolverFacts::kNoNorms, 1e-8f, false},
      {"RMSProp", {"squares"}, SolverFacts::kNoNorms, 1e-8f, false},
      {"AdaDelta", {"squares", "steps"}, SolverFacts::kNoNorms, 1e-6f, true},
  };
  return *kFacts;
}

const SolverFacts* FindSolverFacts(const std::string& type) {
  for (const SolverFacts& facts : AllSolverFacts()) {
    if (facts.type == type) return &facts;
  }
  return nullptr;
}

const SolverFacts& SolverFactsOf(const std::string& type) {
  const SolverFacts* const found = FindSolverFacts(type);
  if (found != nullptr) return *found;
  std::vector<std::string> types;
  for (const SolverFacts& facts : AllSolverFacts()) types.push_back(facts.type);
  ThrowUserError("unknown solver.type \"", type, "\"", Suggestion(type, types));
}

int64_t UpdateBytes(const SolverFacts& solver, int64_t gradient) {
  const int64_t copy = gradient == kFloat ? 0 : gradient;
  const int64_t states = kFloat * static_cast<int64_t>(solver.states.size());
  // Reads weight, states and gradient; writes weight, states and the copy.
  const int64_t update = kFloat + states + gradient + kFloat + states + copy;
  switch (solver.norms) {
    case SolverFacts::kNoNorms:
      break;
    case SolverFacts::kOfGradients:  // reads weight and gradient before that
      return kFloat + gradient + update;
    case SolverFacts::kOfDirections:
      // Reads weight, states and gradient and writes states; then reads weight and states and
      // writes weight and the copy.
      return kFloat + states + gradient + states + kFloat + states + kFloat + copy;
  }
  return update;
}

}  // namespace gf
