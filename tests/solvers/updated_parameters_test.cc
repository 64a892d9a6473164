#include "solvers/updated_parameters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "solvers/solver.h"
#include "tests/solvers/store_for_test.h"

namespace gf {
namespace {

using Ranges = std::vector<ElementRange>;

int64_t StepsOf(double epochs) { return static_cast<int64_t>(10 * epochs); }

void EndAfter(const std::string& pattern, double epochs, SolverConfig* config) {
  ParameterRuleConfig* const rule = config->add_rule();
  rule->set_pattern(pattern);
  rule->set_until_epoch(epochs);
}

TEST(UpdatedParametersTest, RangesAreSplitAtTensors) {
  const auto store = TestStore();
  SolverConfig config;
  EndAfter("*", 0, &config);
  EndAfter("fc.bias", 1000, &config);
  EndAfter("fc.weight", 2, &config);
  EndAfter("bn.weight", 2, &config);
  EndAfter("conv.weight", 3, &config);
  const UpdatedParameters updated(config, *store, StepsOf);
  const auto& entries = store->layout().entries();
  const int64_t weight = entries[1].offset, conv = entries[3].offset, end = store->layout().count();
  const Ranges all = {{0, end}};
  EXPECT_EQ(updated.Updated(0, all), all);
  EXPECT_EQ(updated.Updated(19, all), all);
  EXPECT_EQ(updated.Ended(19, all), Ranges());
  EXPECT_EQ(updated.Updated(20, all), (Ranges{{0, weight}, {conv, end}}));
  EXPECT_EQ(updated.Ended(20, all), (Ranges{{weight, conv}}));
  EXPECT_EQ(updated.Updated(30, all), (Ranges{{0, weight}}));
  EXPECT_EQ(updated.Ended(30, all), (Ranges{{weight, end}}));
  EXPECT_EQ(updated.EndedEntries(19), std::vector<int>());
  EXPECT_EQ(updated.EndedEntries(20), (std::vector<int>{1, 2}));
  EXPECT_EQ(updated.EndedEntries(30), (std::vector<int>{1, 2, 3}));
  // Ranges of chunks and buckets, which stay apart.
  const Ranges some = {{weight - 5, weight + 5},
                       {weight + 7, conv + 1},
                       {conv + 1, conv + 4},
                       {conv + 9, conv + 10}};
  EXPECT_EQ(updated.Updated(19, some), some);
  EXPECT_EQ(
      updated.Updated(20, some),
      (Ranges{
          {weight - 5, weight}, {conv, conv + 1}, {conv + 1, conv + 4}, {conv + 9, conv + 10}}));
  EXPECT_EQ(updated.Ended(20, some), (Ranges{{weight, weight + 5}, {weight + 7, conv}}));
  EXPECT_EQ(updated.Updated(30, {{conv, end}}), Ranges());
  EXPECT_EQ(updated.Updated(20, {}), Ranges());
}

TEST(UpdatedParametersTest, WithoutRulesAllAreUpdatedInAllSteps) {
  const auto store = TestStore();
  const UpdatedParameters updated(SolverConfig(), *store, nullptr);
  const Ranges some = {{0, 3}, {3, 50}, {60, store->layout().count()}};
  EXPECT_EQ(updated.Updated(int64_t{1} << 60, some), some);
  EXPECT_EQ(updated.Ended(int64_t{1} << 60, some), Ranges());
  EXPECT_EQ(updated.EndedEntries(int64_t{1} << 60), std::vector<int>());
  ParameterStore nothing(TestDevice(), {}, {}, DType::kFP32, true);
  EXPECT_EQ(UpdatedParameters(SolverConfig(), nothing, nullptr).Updated(0, {{0, 0}}), Ranges());
}

TEST(UpdatedParametersTest, ARuleForNothingIsAnError) {
  const auto store = TestStore();
  SolverConfig config;
  EndAfter("fc9.*", 1, &config);
  EXPECT_THROW(UpdatedParameters(config, *store, StepsOf), UserError);
}

// The values of an entry: master weights, compute weights, and the solver's state.
std::vector<std::vector<float>> Kept(const ParameterStore& store, const Solver& solver,
                                     const PoolEntry& entry) {
  std::vector<std::vector<float>> kept = {store.Export(store.master(), entry),
                                          store.Export(store.compute(), entry)};
  for (const auto& [name, pool] : solver.State()) kept.push_back(store.Export(pool, entry));
  return kept;
}

// The classifier ends after three steps; the other tensors go on as without the rule.
TEST(UpdatedParametersTest, TensorsThatEndKeepTheirBitsWithEverySolver) {
  for (const char* type :
       {"SGD", "LARS", "LARC", "LAMB", "Adam", "AdamW", "AdaGrad", "RMSProp", "AdaDelta"}) {
    for (const DType compute : {DType::kFP32, DType::kBF16}) {
      SolverConfig config;
      config.set_weight_decay(0.1f);
      config.set_momentum(0.9f);
      const auto plain_store = TestStore(compute), store = TestStore(compute);
      const auto plain = NewSolver("solver", type, config, plain_store.get());
      EndAfter("fc.*", 0.3, &config);
      const auto solver = NewSolver("solver", type, config, store.get());
      const UpdatedParameters updated(config, *store, StepsOf);
      const auto& entries = store->layout().entries();
      std::vector<std::vector<std::vector<float>>> at_end;
      Random random(1, 2);
      UpdateScalars scalars;
      scalars.lr = 0.01;
      for (int step = 0; step < 6; ++step) {
        if (step == 3) {
          for (const PoolEntry& entry : entries) at_end.push_back(Kept(*store, *solver, entry));
        }
        for (const PoolEntry& entry : entries) {
          std::vector<float> gradient(entry.shape.count());
          for (float& value : gradient) value = random.Gaussian();
          for (ParameterStore* each : {plain_store.get(), store.get()}) {
            each->Import(gradient, entry, each->gradient());
          }
        }
        const Ranges all = {{0, store->layout().count()}};
        plain->BeginStep(scalars);
        plain->Update(all);
        solver->BeginStep(scalars);
        solver->Update(updated.Updated(step, all));
        scalars.last_lr = scalars.lr;
        ++scalars.update;
      }
      for (size_t i = 0; i < entries.size(); ++i) {
        const auto kept = Kept(*store, *solver, entries[i]);
        const auto other = Kept(*plain_store, *plain, entries[i]);
        if (entries[i].layer == "fc") {
          EXPECT_EQ(kept, at_end[i]) << type << " " << entries[i].name;
          EXPECT_NE(kept, other) << type << " " << entries[i].name;
          continue;
        }
        EXPECT_NE(kept, at_end[i]) << type << " " << entries[i].name;
        for (size_t k = 0; k < kept.size(); ++k) {
          for (size_t n = 0; n < kept[k].size(); ++n) {
            ASSERT_NEAR(kept[k][n], other[k][n], 1e-5) << type << " " << entries[i].name;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace gf
