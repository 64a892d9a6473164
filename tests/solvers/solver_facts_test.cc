// The table of facts about solvers against the solvers themselves.

#include "core/config/solver_facts.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "solvers/solver.h"
#include "tests/solvers/store_for_test.h"

namespace gf {
namespace {

TEST(SolverFactsTest, AgreeWithTheSolvers) {
  std::set<std::string> registered, described;
  for (const std::string& key : SolverRegistry::Get().Keys()) {
    if (key.rfind("cpu/", 0) == 0) registered.insert(key.substr(4));
  }
  for (const SolverFacts& facts : AllSolverFacts()) described.insert(facts.type);
  ASSERT_EQ(registered, described);
  for (const std::string& type : registered) {
    SolverConfig config;
    const auto store = TestStore();
    const auto solver = NewSolver("solver", type, config, store.get());
    const SolverFacts& facts = SolverFactsOf(type);
    std::vector<std::string> states;
    for (const auto& state : solver->State()) states.push_back(state.first);
    EXPECT_EQ(states, facts.states) << type;
    EXPECT_EQ(solver->whole_tensors(), facts.norms != SolverFacts::kNoNorms) << type;
  }
}

TEST(SolverFactsTest, UpdatesReadAndWriteTheirPools) {
  // Gradients of 4 bytes, without a copy of the weights, and of 2 bytes with one.
  const std::vector<std::pair<const char*, std::pair<int, int>>> expected = {
      {"SGD", {20, 20}},      {"LARS", {28, 26}},  {"LARC", {28, 26}},    {"LAMB", {40, 40}},
      {"Adam", {28, 28}},     {"AdamW", {28, 28}}, {"AdaGrad", {20, 20}}, {"RMSProp", {20, 20}},
      {"AdaDelta", {28, 28}}, {"Muon", {36, 36}}};
  for (const auto& [type, bytes] : expected) {
    EXPECT_EQ(UpdateBytes(SolverFactsOf(type), 4), bytes.first) << type;
    EXPECT_EQ(UpdateBytes(SolverFactsOf(type), 2), bytes.second) << type;
  }
}

TEST(SolverFactsTest, MuonMultipliesItsMatrices) {
  const auto store = TestStore();
  SolverConfig config;
  EXPECT_EQ(UpdateFlops(config, store->layout()), 0);
  config.set_type("Muon");
  // 10 x 33 and 7 x 75, five times.
  const double fc = 4 * 100 * 33 + 2 * 1000, conv = 4 * 49 * 75 + 2 * 343;
  EXPECT_EQ(UpdateFlops(config, store->layout()), 5 * (fc + conv));
  config.mutable_muon()->set_iterations(2);
  ParameterRuleConfig* const rule = config.add_rule();
  rule->set_pattern("fc.*");
  rule->set_adaptive(false);
  EXPECT_EQ(UpdateFlops(config, store->layout()), 2 * conv);
}

TEST(SolverFactsTest, UpdatesHaveStatesAndWorkMemory) {
  const auto store = TestStore();
  const auto pool = static_cast<double>(store->layout().count());
  SolverConfig config;
  const auto floats = [&](const char* type, bool all_directions) {
    config.set_type(type);
    return UpdateMemory(config, store->layout(), all_directions) / 4;
  };
  EXPECT_EQ(floats("SGD", false), pool);
  EXPECT_EQ(floats("AdamW", true), 2 * pool);
  // The largest matrix is 7 x 75, the largest square 10 x 10.
  EXPECT_EQ(floats("Muon", false), 2 * pool + 3 * 7 * 75 + 2 * 100);
  EXPECT_EQ(floats("Muon", true), 3 * pool + 7 * 75 + 2 * 100);
  ParameterRuleConfig* const rule = config.add_rule();
  rule->set_pattern("*");
  rule->set_adaptive(false);
  EXPECT_EQ(floats("Muon", true), 3 * pool);
  EXPECT_EQ(floats("Muon", false), 2 * pool);
}

TEST(SolverFactsTest, UnknownTypesAreNamed) {
  EXPECT_EQ(FindSolverFacts("Newton"), nullptr);
  try {
    SolverFactsOf("adam");
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()), "unknown solver.type \"adam\"; did you mean \"Adam\"?");
  }
}

}  // namespace
}  // namespace gf
