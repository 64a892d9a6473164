// What compressors keep on a rank, where the number of batches per step changes.
#include "solvers/train/step_update.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "comm/local/communicator.h"
#include "tests/solvers/store_for_test.h"

namespace gf {
namespace {

using Batches = std::vector<int>;

// Adds up the mean gradients that it gets.
class SumOfUpdates : public Solver {
 public:
  explicit SumOfUpdates(const ParameterStore& store)
      : gradients_(store.gradient().as<float>()), sums_(store.layout().count()) {}
  void SetCarried(const std::vector<bool>&) override {}
  void BeginStep(const UpdateScalars& scalars) override { scale_ = scalars.gradient_scale; }
  void Inspect(const std::vector<ElementRange>& ranges) override {
    for (const ElementRange& range : ranges) inspected += range.end - range.begin;
  }
  bool Finite() override { return true; }
  void Update(const std::vector<ElementRange>& ranges) override {
    ++updates;
    for (const ElementRange& range : ranges) {
      for (int64_t i = range.begin; i < range.end; ++i) sums_[i] += scale_ * gradients_[i];
    }
  }
  std::vector<std::pair<std::string, Tensor>> State() const override { return {}; }

  bool whole_tensors() const override { return whole; }

  const std::vector<double>& sums() const { return sums_; }
  bool whole = false;
  int updates = 0;
  int64_t inspected = 0;  // elements

 private:
  const float* const gradients_;
  double scale_ = 0;
  std::vector<double> sums_;
};

enum class Knows { kSchedule, kIterSize };

// A rank that trains without a net.
class Rank {
 public:
  Rank(Communicator* comm, const CommConfig& config, Batches batches, float momentum = 0,
       Knows knows = Knows::kSchedule, double loss_scale = 0, std::string* calls = nullptr,
       SolverConfig solver = SolverConfig())
      : comm_(comm), batches_(std::move(batches)) {
    PoolLayout layout;
    layout.Add(TestEntry("fc.bias", Shape({64})));
    layout.Add(TestEntry("fc.weight", Shape({64, 80})));
    layout.Add(TestEntry("conv.weight", Shape({32, 16, 3, 3})));
    store_ =
        std::make_unique<ParameterStore>(TestDevice(), layout, PoolLayout(), DType::kFP32, true);
    options_.config = config;
    options_.config.set_algorithm("native");
    if (!config.sparse().has_chunk_size()) options_.config.mutable_sparse()->set_chunk_size(100);
    options_.config.mutable_sparse()->set_warmup_fraction(0);
    options_.config.mutable_topk()->set_warmup_fraction(0);
    if (config.mode() == CommConfig::TOPK) options_.config.mutable_topk()->set_density(0.05);
    options_.config.mutable_low_rank()->set_warmup_fraction(0);
    options_.total_steps = 100;
    options_.momentum = momentum;
    options_.device = TestDevice();
    flow_ = NewGradientFlow(store_->layout(), store_->gradient(), comm, options_);
    solver_ = std::make_unique<SumOfUpdates>(*store_);
    solver.set_iter_size(batches_[0]);
    if (loss_scale > 0) {
      solver.mutable_loss_scale()->set_policy(LossScaleConfig::STATIC);
      solver.mutable_loss_scale()->set_scale(loss_scale);
    }
    StepUpdate::Parts parts = {
        store_.get(), solver_.get(), flow_.get(), nullptr, &state_, {}, {}, {}};
    parts.steps_of = [](double epochs) { return static_cast<int64_t>(2 * epochs); };
    if (knows == Knows::kSchedule) {
      parts.micro_batches = [this](int64_t step) { return BatchesOf(step); };
    }
    parts.ended = [this](const std::vector<int>& entries) { ended_ = entries; };
    if (calls != nullptr) {
      parts.sums_done = [calls] { *calls += "sums "; };
      parts.before_update = [calls] { *calls += "before "; };
      parts.after_update = [calls](int64_t step) { *calls += StrCat("after ", step, " "); };
    }
    update_ = std::make_unique<StepUpdate>(solver, options_.config, comm->size(), parts);
  }

  int BatchesOf(int64_t step) const {
    return batches_[std::min<size_t>(step, batches_.size() - 1)];
  }

  void Start() { update_->Restore(); }

  // A step whose batch b has the gradients Gradient(step, b, i).
  void Step(const std::function<float(int64_t step, int batch, int64_t i)>& gradient) {
    const int batches = BatchesOf(state_.step);
    const auto factor = static_cast<float>(update_->loss_factor());
    update_->Begin(0.1);
    flow_->BeginStep(state_.step);
    auto* const g = store_->gradient().as<float>();
    for (int64_t i = 0; i < store_->layout().count(); ++i) {
      g[i] = 0;
      for (int b = 0; b < batches; ++b) g[i] += factor * gradient(state_.step, b, i);
    }
    const int entries = static_cast<int>(store_->layout().entries().size());
    for (int entry = 0; entry < entries; ++entry) flow_->GradientsReady({entry});
    update_->Finish(0.1, batches);
    ++state_.step;
    update_->Conclude();
  }

  // The pools as checkpoints have them.
  std::vector<std::vector<float>> Saved() {
    return update_->Unscaled([&] { return Kept(); });
  }
  // The pools as they are.
  std::vector<std::vector<float>> Kept() const {
    std::vector<std::vector<float>> pools;
    for (const auto& [name, pool] : flow_->State()) {
      const float* const values = pool.as<float>();
      pools.emplace_back(values, values + pool.desc.storage_count());
    }
    return pools;
  }

  // Continues what another rank has left.
  void Resume(Rank* other) {
    const std::vector<std::vector<float>> saved = other->Saved();
    const auto pools = flow_->State();
    for (size_t p = 0; p < pools.size(); ++p) {
      std::memcpy(pools[p].second.data, saved[p].data(), saved[p].size() * sizeof(float));
    }
    const Tensor from = other->flow_->shared_state(), to = flow_->shared_state();
    if (to.data != nullptr) std::memcpy(to.data, from.data, to.desc.bytes());
    flow_->Restore(other->flow_->important_chunks());
    state_ = other->state_;
    Start();
  }

  GradientFlow* flow() { return flow_.get(); }
  SumOfUpdates* solver() { return solver_.get(); }
  const std::vector<double>& updates() const { return solver_->sums(); }
  const StepUpdate& update() const { return *update_; }
  // Of the last step.
  const std::vector<int>& ended() const { return ended_; }
  int rank() const { return comm_->rank(); }
  int64_t count() const { return store_->layout().count(); }
  const PoolEntry& entry(int number) const { return store_->layout().entries()[number]; }

 private:
  Communicator* const comm_;
  const Batches batches_;
  std::unique_ptr<ParameterStore> store_;
  GradientFlowOptions options_;
  std::unique_ptr<GradientFlow> flow_;
  std::unique_ptr<SumOfUpdates> solver_;
  TrainingState state_;
  std::unique_ptr<StepUpdate> update_;
  std::vector<int> ended_;
};

// So few bits that sums of some batches are exact.
float Wave(int rank, int64_t step, int batch, int64_t i) {
  const auto x = static_cast<double>(i);
  const double wave = std::sin(0.37 * x + 0.9 * static_cast<double>(step) + 0.2 * rank);
  return static_cast<float>(std::round(wave * (1 + 0.3 * batch) * 4096) / 4096);
}

CommConfig Mode(CommConfig::Mode mode) {
  CommConfig config;
  config.set_mode(mode);
  return config;
}

CommConfig Sparse() {
  CommConfig config = Mode(CommConfig::SPARSE);
  config.mutable_sparse()->set_momentum_correction(false);
  return config;
}

std::vector<std::pair<std::string, CommConfig>> AllModes() {
  std::vector<std::pair<std::string, CommConfig>> modes = {
      {"SPARSE", Mode(CommConfig::SPARSE)},       {"TOPK", Mode(CommConfig::TOPK)},
      {"TOPK, clipped", Mode(CommConfig::TOPK)},  {"LOW_RANK", Mode(CommConfig::LOW_RANK)},
      {"QUANTIZED", Mode(CommConfig::QUANTIZED)}, {"error feedback", Mode(CommConfig::LAZY)}};
  modes[2].second.mutable_topk()->set_local_clip(20);
  modes.back().second.set_error_feedback(true);
  modes.back().second.set_wire_type(CommConfig::BF16);
  return modes;
}

// Batches that are the same batch say no more than one of them.
TEST(StepUpdateTest, ABatchTakenSeveralTimesChangesNothing) {
  for (const auto& [name, config] : AllModes()) {
    for (const Knows knows : {Knows::kSchedule, Knows::kIterSize}) {
      RunLocal(2, 60, [&, &name = name, &config = config](Communicator* comm) {
        const auto batch = [&](int64_t step, int, int64_t i) {
          return Wave(comm->rank(), step, 0, i);
        };
        const bool schedule = knows == Knows::kSchedule;
        Rank once(comm, config, {1}, 0.9f);
        Rank often(comm, config, schedule ? Batches{1, 1, 2, 8, 8, 4, 1} : Batches{4}, 0.9f, knows);
        once.Start();
        often.Start();
        for (int step = 0; step < 8; ++step) {
          once.Step(batch);
          often.Step(batch);
          ASSERT_EQ(often.updates(), once.updates()) << name << ", step " << step;
          ASSERT_EQ(often.Saved(), once.Saved()) << name << ", step " << step;
        }
        // Something was kept.
        EXPECT_NE(once.Saved()[0], std::vector<float>(once.count())) << name;
      });
    }
  }
}

// What was sent and what is kept add up to the mean gradients of all steps.
TEST(StepUpdateTest, NothingIsLostOrCountedTwiceWhereTheBatchChanges) {
  for (const double loss_scale : {0., 1024.}) {
    RunLocal(1, 60, [&](Communicator* comm) {
      Rank rank(comm, Sparse(), {1, 1, 3, 3, 3, 5, 2, 2}, 0.9f, Knows::kSchedule, loss_scale);
      rank.Start();
      std::vector<double> expected(rank.count());
      for (int step = 0; step < 10; ++step) {
        const int batches = rank.BatchesOf(step);
        for (int b = 0; b < batches; ++b) {
          for (int64_t i = 0; i < rank.count(); ++i) expected[i] += Wave(0, step, b, i) / batches;
        }
        rank.Step([](int64_t s, int b, int64_t i) { return Wave(0, s, b, i); });
        const std::vector<float> kept = rank.Saved()[0];
        for (int64_t i = 0; i < rank.count(); ++i) {
          ASSERT_NEAR(rank.updates()[i] + kept[i], expected[i], 1e-4) << step << ", " << i;
        }
      }
    });
  }
}

TEST(StepUpdateTest, ResidualsGoOnInJobsOfAnotherIterSize) {
  for (const auto& [name, config] : AllModes()) {
    RunLocal(2, 60, [&, &name = name, &config = config](Communicator* comm) {
      const auto batch = [&](int64_t step, int, int64_t i) {
        return Wave(comm->rank(), step, 0, i);
      };
      Rank before(comm, config, {8}, 0.9f, Knows::kIterSize);
      Rank after(comm, config, {2}, 0.9f, Knows::kIterSize, 256);
      before.Start();
      for (int step = 0; step < 4; ++step) before.Step(batch);
      after.Resume(&before);
      EXPECT_EQ(after.Saved(), before.Saved()) << name;
      const std::vector<double> middle = before.updates();
      for (int step = 0; step < 4; ++step) {
        before.Step(batch);
        after.Step(batch);
      }
      EXPECT_EQ(after.Saved(), before.Saved()) << name;
      for (int64_t i = 0; i < after.count(); ++i) {
        ASSERT_NEAR(after.updates()[i], before.updates()[i] - middle[i], 1e-12) << name;
      }
    });
  }
}

// No powers of two, so that dividing by them would round.
TEST(StepUpdateTest, SavingChangesNoBits) {
  for (const auto& [name, config] : AllModes()) {
    for (const double loss_scale : {0., 1000., 1.5}) {
      RunLocal(2, 60, [&, &name = name, &config = config](Communicator* comm) {
        const auto batch = [&](int64_t s, int b, int64_t i) { return Wave(comm->rank(), s, b, i); };
        const auto make = [&] {
          return Rank(comm, config, {7}, 0.9f, Knows::kIterSize, loss_scale);
        };
        Rank rank = make(), resumed = make();
        rank.Start();
        for (int step = 0; step < 3; ++step) rank.Step(batch);
        const auto kept = rank.Kept();
        EXPECT_NE(kept[0], std::vector<float>(rank.count())) << name;
        rank.Saved();
        EXPECT_EQ(rank.Kept(), kept) << name << ", loss scale " << loss_scale;
        resumed.Resume(&rank);
        EXPECT_EQ(resumed.Kept(), kept) << name << ", loss scale " << loss_scale;
      });
    }
  }
}

// Another loss scale is another unit.
TEST(StepUpdateTest, ResidualsGoOnUnderAnotherLossScale) {
  RunLocal(1, 60, [&](Communicator* comm) {
    const auto batch = [](int64_t s, int b, int64_t i) { return Wave(0, s, b, i); };
    Rank before(comm, Sparse(), {1}, 0, Knows::kIterSize, 1000);
    Rank after(comm, Sparse(), {1}, 0, Knows::kIterSize, 3000);
    before.Start();
    for (int step = 0; step < 3; ++step) before.Step(batch);
    after.Resume(&before);
    EXPECT_EQ(after.Saved(), before.Saved());
    before.Step(batch);
    after.Step(batch);
    EXPECT_EQ(after.Saved(), before.Saved());
  });
}

// What waits for other ranks must come before the first change of the weights: a rank that is left
// alone keeps its last step only outside the update.
TEST(StepUpdateTest, TheUpdateBeginsAfterAllExchanges) {
  RunLocal(1, 60, [&](Communicator* comm) {
    std::string calls;
    Rank rank(comm, Mode(CommConfig::LAZY), {1}, 0, Knows::kSchedule, 0, &calls);
    rank.Start();
    for (int step = 0; step < 2; ++step) rank.Step([](int64_t, int, int64_t) { return 1.f; });
    EXPECT_EQ(calls, "sums before after 0 sums before after 1 ");
  });
}

// Whatever their gradients are.
TEST(StepUpdateTest, ParametersWhoseRuleHasEndedAreNotUpdated) {
  SolverConfig solver;
  ParameterRuleConfig* const rule = solver.add_rule();
  rule->set_pattern("fc.weight");
  rule->set_until_epoch(1.5);  // three steps
  std::vector<std::pair<std::string, CommConfig>> modes = AllModes();
  modes.emplace_back("LAZY", Mode(CommConfig::LAZY));
  for (const auto& [name, config] : modes) {
    for (const double loss_scale : {0., 1024.}) {
      RunLocal(2, 60, [&, &name = name, &config = config](Communicator* comm) {
        const auto batch = [&](int64_t step, int, int64_t i) {
          return Wave(comm->rank(), step, 0, i);
        };
        Rank rank(comm, config, {1}, 0.9f, Knows::kSchedule, loss_scale, nullptr, solver);
        Rank plain(comm, config, {1}, 0.9f, Knows::kSchedule, loss_scale);
        rank.Start();
        plain.Start();
        std::vector<double> at_end;
        for (int step = 0; step < 7; ++step) {
          if (step == 3) at_end = rank.updates();
          rank.Step(batch);
          plain.Step(batch);
          ASSERT_EQ(rank.ended(), step < 3 ? std::vector<int>() : std::vector<int>{1}) << name;
          ASSERT_EQ(plain.ended(), std::vector<int>());
          ASSERT_EQ(rank.Saved(), plain.Saved()) << name;
        }
        const int64_t begin = rank.entry(1).offset, end = rank.entry(2).offset;
        bool went_on = false;
        for (int64_t i = 0; i < rank.count(); ++i) {
          const bool ended = i >= begin && i < end;
          ASSERT_EQ(rank.updates()[i], ended ? at_end[i] : plain.updates()[i]) << name << " " << i;
          went_on = went_on || (ended && plain.updates()[i] != at_end[i]);
        }
        EXPECT_TRUE(went_on) << name;
      });
    }
  }
}

// A gradient that nobody uses makes no step bad.
TEST(StepUpdateTest, GradientsOfEndedRulesAreNotInspected) {
  RunLocal(1, 60, [&](Communicator* comm) {
    SolverConfig solver;
    ParameterRuleConfig* const rule = solver.add_rule();
    rule->set_pattern("fc.weight");
    rule->set_until_epoch(1);  // two steps
    Rank rank(comm, Mode(CommConfig::LAZY), {1}, 0, Knows::kSchedule, 1024, nullptr, solver);
    rank.Start();
    for (int step = 0; step < 4; ++step) {
      rank.solver()->inspected = 0;
      rank.Step([](int64_t, int, int64_t) { return 1.f; });
      const int64_t ended = step < 2 ? 0 : rank.entry(2).offset - rank.entry(1).offset;
      EXPECT_EQ(rank.solver()->inspected, rank.count() - ended) << step;
    }
  });
}

TEST(StepUpdateTest, OneBatchHasTheLossScaleAsItsFactor) {
  RunLocal(1, 60, [&](Communicator* comm) {
    for (const auto& [batches, factor] :
         std::vector<std::pair<int, double>>{{1, 1}, {2, 1}, {3, 2 / 3.}, {8, 1}}) {
      Rank lazy(comm, Mode(CommConfig::LAZY), {batches}, 0, Knows::kIterSize, 1000);
      EXPECT_EQ(lazy.update().loss_factor(), 1000 * factor) << batches;
      // Residuals need a power of two.
      Rank sparse(comm, Sparse(), {batches}, 0, Knows::kIterSize, 1000);
      EXPECT_EQ(sparse.update().loss_factor(), 512 * factor) << batches;
      Rank exact(comm, Sparse(), {batches}, 0, Knows::kIterSize, 1024);
      EXPECT_EQ(exact.update().loss_factor(), 1024 * factor) << batches;
    }
  });
}

// Calls of Solver::Update in the second step of two ranks.
int UpdatesOfAStep(CommConfig config, bool whole_tensors, const std::string& rung = "") {
  config.set_threshold_first(1);
  config.set_threshold_middle(1);
  config.set_threshold_last(1);
  config.mutable_sparse()->set_chunk_size(50);
  int updates = 0;
  RunLocal(2, 60, [&](Communicator* comm) {
    Rank rank(comm, config, {1});
    rank.solver()->whole = whole_tensors;
    if (!rung.empty()) {
      ASSERT_TRUE(rank.flow()->Adopt(rung));
    }
    rank.Start();
    for (int step = 0; step < 2; ++step) {
      rank.solver()->updates = 0;
      // The important chunks lie in all tensors.
      rank.Step([&](int64_t step, int, int64_t i) {
        return static_cast<float>(1 + i / 50 * 7 % 13) * Wave(comm->rank(), step, 0, i);
      });
    }
    if (comm->rank() == 0) updates = rank.solver()->updates;
  });
  return updates;
}

// Chunks are parts of tensors, so a solver of whole tensors waits for all of them.
TEST(StepUpdateTest, SolversOfWholeTensorsWaitForChunksAlsoWhereAutoTookThem) {
  const CommConfig lazy = Mode(CommConfig::LAZY), sparse = Sparse();
  const CommConfig automatic = Mode(CommConfig::AUTO);
  EXPECT_GT(UpdatesOfAStep(lazy, false), 1);
  EXPECT_GT(UpdatesOfAStep(lazy, true), 1);
  EXPECT_GT(UpdatesOfAStep(sparse, false), 1);
  EXPECT_EQ(UpdatesOfAStep(sparse, true), 1);
  EXPECT_GT(UpdatesOfAStep(automatic, true, "LAZY FP32"), 1);
  EXPECT_GT(UpdatesOfAStep(automatic, false, "SPARSE 0.15"), 1);
  EXPECT_EQ(UpdatesOfAStep(automatic, true, "SPARSE 0.15"), 1);
}

}  // namespace
}  // namespace gf
