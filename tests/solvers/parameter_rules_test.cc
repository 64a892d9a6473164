#include "solvers/parameter_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.h"
#include "solvers/solver.h"
#include "tests/solvers/store_for_test.h"

namespace gf {
namespace {

TEST(ParameterRulesTest, TheNetsMultipliersCountWithoutRules) {
  const auto store = TestStore();
  const std::vector<ParameterRule> rules = RulesOf(SolverConfig(), *store);
  ASSERT_EQ(rules.size(), 4u);
  EXPECT_EQ(rules[0].lr_mult, 2);  // fc.bias
  EXPECT_EQ(rules[0].decay_mult, 0);
  EXPECT_TRUE(rules[0].adaptive);
  EXPECT_EQ(rules[3].lr_mult, 0.5f);  // conv.weight
}

TEST(ParameterRulesTest, PlainMeansTensorsOfOneAxis) {
  const auto store = TestStore();
  SolverConfig config;
  config.set_plain_bias_and_norm(true);
  const std::vector<ParameterRule> rules = RulesOf(config, *store);
  const std::vector<bool> plain = {true, false, true, false};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(rules[i].adaptive, !plain[i]) << i;
    EXPECT_EQ(rules[i].decay_mult, plain[i] ? 0 : 1) << i;
    EXPECT_EQ(rules[i].lr_mult, store->layout().entries()[i].lr_mult) << i;
  }
}

TEST(ParameterRulesTest, TheLastMatchingRuleAppliesFieldByField) {
  const auto store = TestStore();
  SolverConfig config;
  ParameterRuleConfig* rule = config.add_rule();
  rule->set_pattern("*.weight");
  rule->set_lr_mult(3);
  rule->set_adaptive(false);
  rule->set_until_epoch(2.5);
  rule = config.add_rule();
  rule->set_pattern("fc.*");
  rule->set_lr_mult(4);
  rule = config.add_rule();
  rule->set_pattern("bn.*");
  rule->set_until_epoch(0);
  const std::vector<ParameterRule> rules = RulesOf(config, *store);
  EXPECT_EQ(rules[0].lr_mult, 4);  // fc.bias
  EXPECT_TRUE(rules[0].adaptive);
  EXPECT_EQ(rules[1].lr_mult, 4);  // fc.weight
  EXPECT_FALSE(rules[1].adaptive);
  EXPECT_EQ(rules[2].lr_mult, 3);  // bn.weight
  EXPECT_FALSE(rules[0].until_epoch.has_value());
  EXPECT_EQ(rules[1].until_epoch, 2.5);
  EXPECT_EQ(rules[2].until_epoch, 0);
  EXPECT_EQ(rules[3].decay_mult, 1);
}

TEST(ParameterRulesTest, FrozenTensorsKeepTheirBits) {
  for (const char* type :
       {"SGD", "LARS", "LARC", "LAMB", "Adam", "AdamW", "AdaGrad", "RMSProp", "AdaDelta", "Muon"}) {
    const auto store = TestStore();
    SolverConfig config;
    config.set_weight_decay(0.1f);
    ParameterRuleConfig* rule = config.add_rule();
    rule->set_pattern("*");
    rule->set_lr_mult(0);
    rule->set_decay_mult(0);
    rule = config.add_rule();
    rule->set_pattern("fc.*");
    rule->set_lr_mult(1);
    rule->set_decay_mult(1);
    const auto solver = NewSolver("solver", type, config, store.get());
    const int64_t size = store->layout().count();
    const float* const weights = store->master().as<float>();
    const std::vector<float> before(weights, weights + size);
    UpdateScalars scalars;
    scalars.lr = 0.1;
    for (int step = 0; step < 3; ++step) {
      std::fill_n(store->gradient().as<float>(), size, 0.5f);
      solver->BeginStep(scalars);
      solver->Inspect({{0, size}});
      solver->Update({{0, size}});
      ++scalars.update;
    }
    for (const PoolEntry& entry : store->layout().entries()) {
      const bool same = std::equal(weights + entry.offset, weights + entry.offset + entry.count,
                                   before.begin() + entry.offset);
      EXPECT_EQ(same, entry.layer != "fc") << type << " " << entry.name;
    }
  }
}

TEST(ParameterRulesTest, ARuleForNothingIsAnError) {
  const auto store = TestStore();
  SolverConfig config;
  config.add_rule()->set_pattern("fc9.*");
  try {
    RulesOf(config, *store);
    FAIL();
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("fc9.*"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("conv.weight"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace gf
