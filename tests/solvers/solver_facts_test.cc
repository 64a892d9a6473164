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
      {"SGD", {20, 20}},     {"LARS", {28, 26}},    {"LARC", {28, 26}},
      {"LAMB", {40, 40}},    {"Adam", {28, 28}},    {"AdamW", {28, 28}},
      {"AdaGrad", {20, 20}}, {"RMSProp", {20, 20}}, {"AdaDelta", {28, 28}}};
  for (const auto& [type, bytes] : expected) {
    EXPECT_EQ(UpdateBytes(SolverFactsOf(type), 4), bytes.first) << type;
    EXPECT_EQ(UpdateBytes(SolverFactsOf(type), 2), bytes.second) << type;
  }
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
