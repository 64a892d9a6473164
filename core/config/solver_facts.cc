#include "core/config/solver_facts.h"

#include <algorithm>

#include "core/config/name_pattern.h"
#include "core/config/nearest.h"
#include "core/error.h"

namespace gf {
namespace {

constexpr int64_t kFloat = sizeof(float);

// Calls body(shorter side, longer side) for each parameter that an update treats as a matrix.
template <typename Body>
void ForMatrices(const SolverConfig& config, const PoolLayout& layout, const Body& body) {
  if (SolverFactsOf(config.type()).norms != SolverFacts::kOfMatrices) return;
  for (const PoolEntry& entry : layout.entries()) {
    bool adaptive = true;
    for (const ParameterRuleConfig& rule : config.rule()) {
      if (rule.has_adaptive() && NameFits(rule.pattern(), entry.name)) adaptive = rule.adaptive();
    }
    if (!IsMatrix(entry, adaptive)) continue;
    const auto rows = static_cast<double>(entry.shape[0]);
    const double columns = static_cast<double>(entry.shape.count()) / rows;
    body(std::min(rows, columns), std::max(rows, columns));
  }
}

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
      {"Muon", {"mean", "variance"}, SolverFacts::kOfMatrices, 1e-8f, true},
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
    case SolverFacts::kOfMatrices:
      // Reads mean and gradient, writes mean and direction; reads and writes the direction; reads
      // weight and direction and writes weight and the copy.
      return kFloat + gradient + 2 * kFloat + 2 * kFloat + 3 * kFloat + copy;
  }
  return update;
}

bool IsMatrix(const PoolEntry& entry, bool adaptive) { return adaptive && entry.shape.rank() > 1; }

double MatrixMemory(const SolverConfig& config, const PoolLayout& layout, bool all_directions) {
  if (SolverFactsOf(config.type()).norms != SolverFacts::kOfMatrices) return 0;
  double count = 0, square = 0;
  ForMatrices(config, layout, [&](double shorter, double longer) {
    count = std::max(count, shorter * longer);
    square = std::max(square, shorter * shorter);
  });
  // The CPU also needs the direction row by row.
  const double directions = all_directions ? static_cast<double>(layout.count()) : 2 * count;
  return kFloat * (directions + count + 2 * square);  // the next matrix, and two squares
}

double UpdateMemory(const SolverConfig& config, const PoolLayout& layout, bool all_directions) {
  const auto states = static_cast<int64_t>(SolverFactsOf(config.type()).states.size());
  return static_cast<double>(kFloat * states * layout.count()) +
         MatrixMemory(config, layout, all_directions);
}

double UpdateFlops(const SolverConfig& config, const PoolLayout& layout) {
  double flops = 0;
  ForMatrices(config, layout, [&](double shorter, double longer) {
    // The Gram matrix and the new matrix; the square of the Gram matrix.
    flops += config.muon().iterations() *
             (4 * shorter * shorter * longer + 2 * shorter * shorter * shorter);
  });
  return flops;
}

}  // namespace gf
