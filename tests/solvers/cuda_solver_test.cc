// Solvers on a GPU against those on the processor.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "core/host_copy.h"
#include "core/random.h"
#include "solvers/loss_scaler.h"
#include "solvers/pool_arithmetic.h"
#include "solvers/solver.h"
#include "solvers/updated_parameters.h"
#include "tests/solvers/store_for_test.h"

namespace gf {
namespace {

// Null, and why, where there is none.
Device* Gpu(std::string* why) {
  static std::string reason;
  static Device* const device = []() -> Device* {
    try {
      return DeviceRegistry::Get().Create("device", "cuda", 0).release();
    } catch (const UserError& e) {
      reason = e.what();
      return nullptr;
    }
  }();
  *why = reason;
  return device;
}

class CudaSolverTest : public testing::TestWithParam<std::tuple<std::string, DType>> {
 protected:
  void SetUp() override {
    std::string why;
    gpu_ = Gpu(&why);
    if (gpu_ == nullptr) GTEST_SKIP() << "NOT TESTED on a GPU: " << why;
    type_ = std::get<1>(GetParam());
    // More classes than a piece holds elements of one row.
    expected_ = TestStore(DType::kFP32, 700);
    tested_ = std::make_unique<ParameterStore>(gpu_, expected_->layout(), expected_->state_layout(),
                                               type_, true);
    for (const PoolEntry& entry : expected_->layout().entries()) {
      tested_->Import(expected_->Export(expected_->master(), entry), entry, tested_->master());
    }
    tested_->SyncCompute();
  }

  // The same gradients in both, exact in every type.
  void SetGradients(Random* random) {
    for (const PoolEntry& entry : expected_->layout().entries()) {
      std::vector<float> values(entry.shape.count());
      for (float& value : values) value = std::round(32 * random->Gaussian()) / 32;
      expected_->Import(values, entry, expected_->gradient());
      tested_->Import(values, entry, tested_->gradient());
    }
  }

  void ExpectNear(const Tensor& tested, const Tensor& expected, double tolerance) {
    const std::vector<float> a = Values(*tested_, tested, tested_->layout());
    const std::vector<float> b = Values(*expected_, expected, expected_->layout());
    ASSERT_EQ(a.size(), b.size());
    int wrong = 0;
    for (size_t i = 0; i < a.size() && wrong < 5; ++i) {
      if (std::fabs(a[i] - b[i]) <= tolerance * std::max(1.f, std::fabs(b[i]))) continue;
      ++wrong;
      ADD_FAILURE() << i << ": " << a[i] << ", expected " << b[i];
    }
  }

  // What the updates of a step get: calls with ranges.
  using Calls = std::vector<std::vector<ElementRange>>;

  // Ten steps on both devices; calls(step): those of a step.
  template <typename CallsOf>
  void ExpectSameSteps(const CallsOf& calls, bool record) {
    const std::string type = std::get<0>(GetParam());
    SolverConfig config;
    config.set_momentum(0.9f);
    config.set_weight_decay(0.01f);
    config.set_trust_coefficient(0.05f);
    config.set_plain_bias_and_norm(true);
    const auto expected = NewSolver("solver", type, config, expected_.get());
    const auto tested = NewSolver("solver", type, config, tested_.get());
    tested->set_record(record);
    EXPECT_EQ(tested->whole_tensors(), expected->whole_tensors());
    Random random(1, 2);
    UpdateScalars scalars;
    const DecaySteps expected_decay = NewDecaySteps(TestDevice()),
                     tested_decay = NewDecaySteps(gpu_);
    for (int step = 0; step < 10; ++step) {
      SetGradients(&random);
      // What a recording must not keep.
      scalars.lr = 0.05 + 0.01 * step;
      scalars.gradient_scale = 0.25 / (1 + step);
      for (Solver* solver : {expected.get(), tested.get()}) {
        // In some steps the second tensor's gradients carry their momentum.
        if (type == "SGD") {
          solver->SetCarried(step % 4 < 2 ? std::vector<bool>()
                                          : std::vector<bool>{false, true, false, false});
        }
        // The same vector in every step, with other numbers.
        const bool on_gpu = solver == tested.get();
        const DecaySteps& decay = on_gpu ? tested_decay : expected_decay;
        HostCopy steps(on_gpu ? gpu_ : TestDevice(), decay.steps);
        for (int64_t c = 0; c < decay.steps.desc.storage_count(); ++c) {
          steps.tensor().as<float>()[c] = static_cast<float>(1 + (c + step) % 3);
        }
        steps.Put();
        if (type == "SGD") solver->SetDecaySteps(decay);
        solver->BeginStep(scalars);
        const Calls ranges = calls(step);
        for (size_t i = 0; step % 2 == 0 && i < ranges.size(); ++i) solver->Inspect(ranges[i]);
        EXPECT_TRUE(solver->Finite());
        for (const auto& call : ranges) solver->Update(call);
      }
      scalars.last_lr = scalars.lr;
      ++scalars.update;
    }
    ExpectSame(*expected, *tested);
  }

  DecaySteps NewDecaySteps(Device* device) const {
    constexpr int64_t kChunk = 1001;
    DecaySteps decay;
    decay.chunk = kChunk;
    decay.steps.desc = {Shape{All().end / kChunk + 1}, DType::kFP32, Layout()};
    decay.steps.owner = device->Allocate(decay.steps.desc.bytes());
    decay.steps.data = decay.steps.owner.get();
    return decay;
  }

  void ExpectSame(const Solver& expected, const Solver& tested) {
    ExpectNear(tested_->master(), expected_->master(), 1e-5);
    for (size_t i = 0; i < tested.State().size(); ++i) {
      EXPECT_EQ(tested.State()[i].first, expected.State()[i].first);
      ExpectNear(tested.State()[i].second, expected.State()[i].second, 1e-4);
    }
    // The compute copy is the rounded master.
    const double tolerance = type_ == DType::kFP32 ? 1e-5 : type_ == DType::kFP16 ? 1e-3 : 8e-3;
    ExpectNear(tested_->compute(), expected_->master(), tolerance);
  }

  ElementRange All() const { return {0, expected_->layout().count()}; }

  Device* gpu_ = nullptr;
  DType type_ = DType::kFP32;
  std::unique_ptr<ParameterStore> expected_, tested_;
};

TEST_P(CudaSolverTest, TakesTheSameStepsAsTheCpu) {
  for (const bool record : {false, true}) {
    SetUp();
    ExpectSameSteps([&](int) { return Calls{{All()}}; }, record);
  }
}

TEST_P(CudaSolverTest, TakesTheSameStepsInBuckets) {
  const auto& entries = expected_->layout().entries();
  const int64_t first = entries[1].offset, second = entries[3].offset;
  ExpectSameSteps(
      [&](int) {
        return Calls{{{0, first}}, {{first, second}}, {{second, All().end}}};
      },
      true);
}

// As SPARSE: chunks that are other ones in every step, more and fewer of them.
TEST_P(CudaSolverTest, TakesTheSameStepsInChangingChunks) {
  if (std::get<0>(GetParam()) == "Muon") return;  // which CheckJob keeps from chunks
  const auto chunks = [&](int step) {
    const int64_t size = step % 3 == 0 ? 7 : 1000;
    std::vector<ElementRange> ranges;
    for (int64_t begin = step % 4 * size; begin < All().end; begin += (2 + step % 3) * size) {
      ranges.push_back({begin, std::min(begin + size, All().end)});
    }
    return Calls{ranges};
  };
  ExpectSameSteps(chunks, true);
  ExpectSameSteps([&](int step) { return step % 2 == 0 ? chunks(step) : Calls{{}}; }, true);
}

// The first tensor is updated in every step, the others end after different steps.
TEST_P(CudaSolverTest, ParametersThatEndKeepTheirBits) {
  const auto steps_of = [](double epochs) { return static_cast<int64_t>(epochs); };
  for (const bool record : {false, true}) {
    SetUp();
    SolverConfig config;
    config.set_momentum(0.9f);
    config.set_weight_decay(0.01f);
    const std::vector<int> last_steps = {100, 4, 6, 1};
    const auto& entries = expected_->layout().entries();
    for (size_t i = 0; i < entries.size(); ++i) {
      ParameterRuleConfig* const rule = config.add_rule();
      rule->set_pattern(entries[i].name);
      rule->set_until_epoch(last_steps[i]);
    }
    const std::string type = std::get<0>(GetParam());
    const auto expected = NewSolver("solver", type, config, expected_.get());
    const auto tested = NewSolver("solver", type, config, tested_.get());
    tested->set_record(record);
    const UpdatedParameters updated(config, *expected_, steps_of);
    const auto kept = [&](int entry) {
      const PoolEntry& of = tested_->layout().entries()[entry];
      std::vector<std::vector<float>> pools = {tested_->Export(tested_->master(), of),
                                               tested_->Export(tested_->compute(), of)};
      for (const auto& [name, pool] : tested->State()) pools.push_back(tested_->Export(pool, of));
      return pools;
    };
    std::vector<std::vector<std::vector<float>>> at_end(entries.size());
    Random random(1, 7);
    UpdateScalars scalars;
    scalars.gradient_scale = 0.25;
    for (int step = 0; step < 10; ++step) {
      for (size_t i = 0; i < entries.size(); ++i) {
        if (step == last_steps[i]) at_end[i] = kept(static_cast<int>(i));
      }
      SetGradients(&random);
      scalars.lr = 0.05 + 0.01 * step;
      // Two buckets, of which the second one holds the last tensor alone.
      const int64_t border = entries[3].offset;
      for (Solver* solver : {expected.get(), tested.get()}) {
        solver->BeginStep(scalars);
        solver->Update(updated.Updated(step, {{0, border}}));
        solver->Update(updated.Updated(step, {{border, All().end}}));
      }
      scalars.last_lr = scalars.lr;
      ++scalars.update;
    }
    ExpectSame(*expected, *tested);
    for (int i = 1; i < 4; ++i) EXPECT_EQ(kept(i), at_end[i]) << entries[i].name << record;
  }
}

// With a compute pool of its own, FP32 has a copy of the weights, too, and weights of some ranges
// are ahead.
TEST_P(CudaSolverTest, GoesAheadAsTheCpu) {
  SolverConfig config;
  config.set_momentum(0.9f);
  for (ParameterStore* store : {expected_.get(), tested_.get()}) store->SetOwnCompute(true);
  const auto expected = NewSolver("solver", std::get<0>(GetParam()), config, expected_.get());
  const auto tested = NewSolver("solver", std::get<0>(GetParam()), config, tested_.get());
  Random random(1, 6);
  UpdateScalars scalars;
  for (int step = 0; step < 6; ++step) {
    SetGradients(&random);
    scalars.lr = 0.05 + 0.01 * step;
    for (Solver* solver : {expected.get(), tested.get()}) {
      solver->BeginStep(scalars);
      solver->Update({All()});
    }
    ++scalars.update;
    ExpectSame(*expected, *tested);
    // State is numbers as good as residuals. Other ranges in every step.
    const int64_t first = 64 + 100 * step, second = 1000 + step;
    const std::vector<ElementRange> ranges = {{0, first}, {second, All().end - 37}};
    for (Solver* solver : {expected.get(), tested.get()}) {
      solver->StepAhead(solver->State()[0].second, ranges, scalars.lr, 0.25);
    }
    ExpectNear(tested_->master(), expected_->master(), 1e-5);
    const double tolerance = type_ == DType::kFP32 ? 1e-5 : type_ == DType::kFP16 ? 1e-3 : 8e-3;
    ExpectNear(tested_->compute(), expected_->compute(), tolerance);
    EXPECT_NE(Values(*expected_, expected_->compute(), expected_->layout()),
              Values(*expected_, expected_->master(), expected_->layout()));
  }
}

// The GPU decides by itself whether it updates; nothing is asked in between.
TEST_P(CudaSolverTest, UpdatesOnlyIfFinite) {
  SolverConfig config;
  config.set_momentum(0.9f);
  Random random(1, 4);
  const PoolEntry& first = expected_->layout().entries().front();
  const auto expected = NewSolver("solver", std::get<0>(GetParam()), config, expected_.get());
  const auto tested = NewSolver("solver", std::get<0>(GetParam()), config, tested_.get());
  UpdateScalars scalars;
  scalars.only_if_finite = true;
  scalars.lr = 0.1;
  for (int step = 0; step < 8; ++step) {
    SetGradients(&random);
    const bool bad = step % 3 == 1;
    for (auto& [store, solver] :
         {std::pair(expected_.get(), expected.get()), std::pair(tested_.get(), tested.get())}) {
      if (bad) {
        std::vector<float> values(first.shape.count(), 1);
        values[0] = INFINITY;
        store->Import(values, first, store->gradient());
      }
      const std::vector<float> before = store->Export(store->master(), first);
      solver->BeginStep(scalars);
      solver->Inspect({All()});
      solver->ReadFinite();
      solver->Update({All()});
      EXPECT_EQ(store->Export(store->master(), first) == before, bad) << step;
      EXPECT_EQ(solver->Finite(), !bad) << step;
    }
    if (!bad) ++scalars.update;
  }
  ExpectSame(*expected, *tested);
}

// What an update computes does not decide whether it is made.
TEST_P(CudaSolverTest, UpdatesThoughItsOwnSumsOverflow) {
  if (std::get<0>(GetParam()) != "LAMB") return;  // the one with sums of its own
  SolverConfig config;
  const auto solver = NewSolver("solver", "LAMB", config, tested_.get());
  Random random(1, 5);
  SetGradients(&random);
  for (const PoolEntry& entry : tested_->layout().entries()) {
    tested_->Import(std::vector<float>(entry.shape.count(), 1e30f), entry, tested_->master());
  }
  UpdateScalars scalars;
  scalars.only_if_finite = true;
  solver->BeginStep(scalars);
  solver->Inspect({All()});
  solver->Update({All()});
  EXPECT_TRUE(solver->Finite());
}

TEST_P(CudaSolverTest, SeesNumbersThatAreNotFinite) {
  SolverConfig config;
  const auto solver = NewSolver("solver", std::get<0>(GetParam()), config, tested_.get());
  Random random(1, 3);
  SetGradients(&random);
  solver->BeginStep({});
  solver->Inspect({All()});
  EXPECT_TRUE(solver->Finite());
  EXPECT_EQ(LayerWithBadGradient(*tested_), "");
  const PoolEntry& last = tested_->layout().entries().back();
  for (float bad : {INFINITY, -INFINITY, NAN}) {
    std::vector<float> values(last.shape.count(), 1);
    values.back() = bad;
    tested_->Import(values, last, tested_->gradient());
    solver->BeginStep({});
    solver->Inspect({{0, last.offset}});
    EXPECT_TRUE(solver->Finite()) << bad;
    solver->Inspect({{last.offset, All().end}});
    EXPECT_FALSE(solver->Finite()) << bad;
    EXPECT_EQ(LayerWithBadGradient(*tested_), last.layer);
  }
}

TEST_P(CudaSolverTest, SumsGradientsOfSeveralBatches) {
  Accumulator sum(tested_.get());
  std::vector<int> entries;
  for (size_t i = 0; i < tested_->layout().entries().size(); ++i) {
    entries.push_back(static_cast<int>(i));
  }
  const PoolEntry& first = tested_->layout().entries().front();
  const auto set = [&](float value) {
    tested_->Import(std::vector<float>(first.shape.count(), value), first, tested_->gradient());
  };
  for (int turn = 0; turn < 2; ++turn) {
    set(1);
    sum.Add(entries);
    set(2);
    sum.Add(entries);
    set(4);
    sum.Merge(entries);
    EXPECT_EQ(tested_->Export(tested_->gradient(), first),
              std::vector<float>(first.shape.count(), 7));
  }
}

TEST_P(CudaSolverTest, AveragesAsTheCpu) {
  const auto on_cpu = NewPoolArithmetic(expected_->device()), on_gpu = NewPoolArithmetic(gpu_);
  const auto fill = [](ParameterStore* store) {
    store->AddAverage();
    float value = 0;
    for (const PoolEntry& entry : store->layout().entries()) {
      std::vector<float> values(entry.shape.count());
      for (float& each : values) each = value += 0.003f;
      store->Import(values, entry, store->average()->master());
    }
  };
  fill(expected_.get());
  fill(tested_.get());
  for (const double share : {0.0001, 0.25, 0.5, 0.9, 1.0}) {
    on_cpu->Average(expected_->master(), share, expected_->average()->master());
    on_gpu->Average(tested_->master(), share, tested_->average()->master());
    ExpectNear(tested_->average()->master(), expected_->average()->master(), 1e-6);
  }
  // A share of 1 gives the weights.
  ExpectNear(tested_->average()->master(), expected_->master(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Solvers, CudaSolverTest,
    testing::Combine(testing::Values("SGD", "LARS", "LARC", "LAMB", "Adam", "AdamW", "AdaGrad",
                                     "RMSProp", "AdaDelta", "Muon"),
                     testing::Values(DType::kFP32, DType::kBF16, DType::kFP16)),
    [](const auto& info) { return std::get<0>(info.param) + "_" + Name(std::get<1>(info.param)); });

}  // namespace
}  // namespace gf
