// Gradients at weights that are ahead by what SPARSE has not sent, against the method in double.
#include "solvers/train/step_ahead.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/local/communicator.h"
#include "comm/sparse/chunks.h"
#include "solvers/train/step_update.h"
#include "tests/solvers/store_for_test.h"

namespace gf {
namespace {

constexpr float kMomentum = 0.9f;
constexpr int64_t kChunk = 100;

PoolLayout TestLayout() {
  PoolLayout layout;
  layout.Add(TestEntry("fc.bias", Shape({64}), 2));
  layout.Add(TestEntry("fc.weight", Shape({64, 80})));
  layout.Add(TestEntry("conv.weight", Shape({32, 16, 3, 3}), 0.5f));
  return layout;
}

CommConfig TestConfig(CommConfig::Mode mode = CommConfig::SPARSE) {
  CommConfig config;
  config.set_mode(mode);
  config.set_algorithm("native");
  config.mutable_sparse()->set_chunk_size(kChunk);
  config.mutable_sparse()->set_warmup_fraction(0.1f);
  return config;
}

// Each rank has a parabola per weight and batch: the gradient is slope * (weight - bottom).
double Slope(int rank, int64_t i) {
  return 0.5 + 0.4 * std::sin(1.3 * rank + 0.01 * static_cast<double>(i));
}
double Bottom(int rank, int batch, int64_t i) {
  return std::cos(0.7 * rank + 0.31 * static_cast<double>(i)) + 0.25 * batch;
}

double Rate(int64_t step) { return 0.02 + 0.002 * static_cast<double>(step % 5); }

struct Case {
  CommConfig config = TestConfig();
  std::string solver = "SGD";
  int batches = 1;
  double loss_scale = 0;
  int weight_steps = 0;  // that update fc.weight; 0: all
};

// A rank that trains without a net.
class Rank {
 public:
  Rank(Communicator* comm, const Case& c)
      : comm_(comm),
        case_(c),
        store_(TestDevice(), TestLayout(), PoolLayout(), DType::kFP32, true) {
    SolverConfig config;
    config.set_type(c.solver);
    config.set_momentum(kMomentum);
    config.set_iter_size(c.batches);
    if (c.loss_scale > 0) {
      config.mutable_loss_scale()->set_policy(LossScaleConfig::STATIC);
      config.mutable_loss_scale()->set_scale(c.loss_scale);
    }
    if (c.weight_steps > 0) {
      config.add_rule()->set_pattern("fc.weight");
      config.mutable_rule(0)->set_until_epoch(c.weight_steps);
    }
    options_.config = c.config;
    options_.total_steps = 40;
    options_.momentum = kMomentum;
    options_.solver = c.solver;
    options_.steps_ahead = StepsAhead(c.config, c.solver, comm->size(), DType::kFP32, true);
    options_.device = TestDevice();
    solver_ = NewSolver("solver", c.solver, config, &store_);
    flow_ = NewGradientFlow(store_.layout(), store_.gradient(), comm, options_);
    StepUpdate::Parts parts = {
        &store_, solver_.get(), flow_.get(), nullptr, &state_, [](const std::string&) {}, {}, {}};
    parts.steps_of = [](double epochs) { return static_cast<int64_t>(epochs); };
    update_ = std::make_unique<StepUpdate>(config, c.config, comm->size(), parts);
    update_->Restore();
  }

  void Adopt(const std::string& rung) { ASSERT_TRUE(flow_->Adopt(rung)) << rung; }
  void Begin() { update_->Begin(Rate(state_.step)); }
  // `bad`: a gradient of rank 0 is not finite, so that the step is skipped.
  void Step(bool bad = false) {
    Begin();
    flow_->BeginStep(state_.step);
    const double factor = update_->loss_factor();
    const float* const weights = store_.compute().as<float>();
    for (int64_t i = 0; i < count(); ++i) {
      double gradient = 0;
      for (int b = 0; b < case_.batches; ++b) {
        gradient += Slope(comm_->rank(), i) * (weights[i] - Bottom(comm_->rank(), b, i));
      }
      store_.gradient().as<float>()[i] = static_cast<float>(factor * gradient);
    }
    if (bad && comm_->rank() == 0) store_.gradient().as<float>()[0] = INFINITY;
    update_->Finish(Rate(state_.step), case_.batches);
    ++state_.step;
    update_->Conclude();
  }

  // What the flow keeps, as a mean gradient at rate 1.
  std::vector<float> Kept() {
    return update_->Unscaled([&] { return Values(store_, flow_->residual(), store_.layout()); });
  }

  void StepBack() { update_->StepBack(); }

  // Continues what another rank has left.
  void Resume(Rank* other) {
    const auto copy = [](const Tensor& from, const Tensor& to) {
      if (to.data != nullptr) std::memcpy(to.data, from.data, to.desc.bytes());
    };
    copy(other->store_.master(), store_.master());
    copy(other->solver_->State()[0].second, solver_->State()[0].second);
    update_->Unscaled([&] {
      return other->update_->Unscaled([&] {
        copy(other->flow_->residual(), flow_->residual());
        return 0;
      });
    });
    copy(other->flow_->shared_state(), flow_->shared_state());
    flow_->Restore(other->flow_->important_chunks());
    state_ = other->state_;
    store_.SyncCompute();
  }

  ChunkSet Important() const {
    return ChunkSet(ChunkGrid(count(), kChunk), flow_->important_chunks());
  }
  std::vector<float> Master() const { return Values(store_, store_.master(), store_.layout()); }
  std::vector<float> Compute() const { return Values(store_, store_.compute(), store_.layout()); }
  const ParameterStore& store() const { return store_; }
  int64_t count() const { return store_.layout().count(); }

 private:
  Communicator* const comm_;
  const Case case_;
  ParameterStore store_;
  GradientFlowOptions options_;
  std::unique_ptr<Solver> solver_;
  std::unique_ptr<GradientFlow> flow_;
  TrainingState state_;
  std::unique_ptr<StepUpdate> update_;
};

// All ranks of the method, in double. The chunks that travel are given.
class Reference {
 public:
  Reference(int world, int batches)
      : layout_(TestLayout()),
        batches_(batches),
        weights_(layout_.count()),
        velocity_(layout_.count()),
        kept_(world, std::vector<double>(layout_.count())) {}

  void Step(int64_t step, const ChunkSet& important) {
    for (const PoolEntry& entry : layout_.entries()) {
      const double rate = Rate(step) * entry.lr_mult;
      for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
        double mean = 0;
        for (size_t r = 0; r < kept_.size(); ++r) {
          const int rank = static_cast<int>(r);
          double gradient = 0;
          for (int b = 0; b < batches_; ++b) {
            gradient += Slope(rank, i) * (weights_[i] - rate * kept_[r][i] - Bottom(rank, b, i));
          }
          kept_[r][i] += gradient / batches_;
          mean += kept_[r][i] / static_cast<double>(kept_.size());
        }
        if (!important.Contains(i / kChunk)) continue;
        velocity_[i] = kMomentum * velocity_[i] + rate * mean;
        weights_[i] -= velocity_[i];
        for (auto& kept : kept_) kept[i] = 0;
      }
    }
  }

  const std::vector<double>& weights() const { return weights_; }
  // What a rank computes with in a step.
  std::vector<double> Ahead(int rank, int64_t step) const {
    std::vector<double> ahead = weights_;
    for (const PoolEntry& entry : layout_.entries()) {
      for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
        ahead[i] -= Rate(step) * entry.lr_mult * kept_[rank][i];
      }
    }
    return ahead;
  }

 private:
  const PoolLayout layout_;
  const int batches_;
  std::vector<double> weights_, velocity_;
  std::vector<std::vector<double>> kept_;  // by rank
};

double LargestDifference(const std::vector<float>& a, const std::vector<double>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

class StepAheadTest : public testing::TestWithParam<int> {};

// As the method says; without it, the weights differ clearly.
void Check(const Case& c, int world, double tolerance) {
  RunLocal(world, 60, [&](Communicator* comm) {
    Case not_ahead = c;
    not_ahead.config.mutable_sparse()->set_step_ahead(false);
    not_ahead.config.mutable_sparse()->set_momentum_correction(false);
    Rank rank(comm, c), other(comm, not_ahead);
    Reference reference(world, c.batches);
    bool waits = false;
    for (int step = 0; step < 20; ++step) {
      const ChunkSet important = rank.Important();
      waits = waits || !important.IsAll();
      rank.Begin();
      ASSERT_LT(LargestDifference(rank.Compute(), reference.Ahead(comm->rank(), step)), tolerance)
          << step;
      rank.Step();
      other.Step();
      reference.Step(step, important);
      ASSERT_LT(LargestDifference(rank.Master(), reference.weights()), tolerance) << step;
    }
    EXPECT_TRUE(waits);
    EXPECT_GT(LargestDifference(other.Master(), reference.weights()), 0.01);
    rank.StepBack();
    EXPECT_EQ(rank.Compute(), rank.Master());
  });
}

TEST_P(StepAheadTest, EqualsTheMethodInDouble) { Check({}, GetParam(), 1e-5); }

TEST_P(StepAheadTest, EqualsTheMethodWhereABatchAndALossAreScaled) {
  Case c;
  c.batches = 3;
  c.loss_scale = 1024;
  Check(c, GetParam(), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Ranks, StepAheadTest, testing::Values(2, 3, 4, 7));

TEST(StepAheadStateTest, AResumedJobHasTheSameBits) {
  for (const double loss_scale : {0., 1024.}) {
    RunLocal(2, 60, [&](Communicator* comm) {
      Case c;
      c.loss_scale = loss_scale;
      Rank whole(comm, c), resumed(comm, c);
      for (int step = 0; step < 9; ++step) whole.Step();
      resumed.Resume(&whole);
      for (int step = 0; step < 6; ++step) {
        // Validation in between changes nothing.
        if (step == 2) whole.StepBack();
        whole.Begin();
        resumed.Begin();
        ASSERT_EQ(resumed.Compute(), whole.Compute()) << step;
        whole.Step();
        resumed.Step();
        ASSERT_EQ(resumed.Master(), whole.Master()) << step;
      }
    });
  }
}

// What a skipped step sent was not applied, and is no longer kept.
TEST(StepAheadStateTest, WeightsAreWhereTheyBelongAfterASkippedStep) {
  RunLocal(2, 60, [&](Communicator* comm) {
    Case c;
    c.loss_scale = 1024;
    Rank rank(comm, c);
    for (int step = 0; step < 14; ++step) {
      const std::vector<float> before = rank.Master();
      const bool bad = step == 9;
      rank.Step(bad);
      ASSERT_EQ(rank.Master() == before, bad) << step;
      const std::vector<float> kept = rank.Kept(), master = rank.Master();
      rank.Begin();
      const std::vector<float> compute = rank.Compute();
      for (const PoolEntry& entry : rank.store().layout().entries()) {
        for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
          ASSERT_NEAR(compute[i], master[i] - Rate(step + 1) * entry.lr_mult * kept[i], 1e-5)
              << "step " << step << ", " << i;
        }
      }
    }
  });
}

// The gradients that a rank keeps of ended parameters are never applied.
TEST(StepAheadStateTest, WeightsThatAreNoLongerUpdatedAreNotAhead) {
  RunLocal(2, 60, [&](Communicator* comm) {
    Case c;
    c.weight_steps = 7;
    Rank rank(comm, c);
    std::vector<float> at_end;
    bool kept_some = false;
    for (int step = 0; step < 16; ++step) {
      if (step == c.weight_steps) at_end = rank.Master();
      rank.Begin();
      const std::vector<float> compute = rank.Compute(), master = rank.Master(), kept = rank.Kept();
      // fc.bias has 64 values, fc.weight 64 x 80.
      const auto first = 64, last = 64 + 64 * 80;
      EXPECT_EQ(std::equal(compute.begin() + last, compute.end(), master.begin() + last),
                std::all_of(kept.begin() + last, kept.end(), [](float h) { return h == 0; }));
      if (step >= c.weight_steps) {
        EXPECT_TRUE(
            std::equal(compute.begin() + first, compute.begin() + last, at_end.begin() + first))
            << step;
        EXPECT_TRUE(
            std::equal(master.begin() + first, master.begin() + last, at_end.begin() + first))
            << step;
        kept_some = kept_some || std::any_of(kept.begin() + first, kept.begin() + last,
                                             [](float h) { return h != 0; });
      }
      rank.Step();
    }
    EXPECT_TRUE(kept_some);
  });
}

// AUTO has such weights while it has SPARSE, and computes with the others' else.
TEST(StepAheadStateTest, AutoGoesAheadWithSparse) {
  RunLocal(2, 60, [&](Communicator* comm) {
    Case c;
    c.config = TestConfig(CommConfig::AUTO);
    c.config.mutable_sparse()->set_warmup_fraction(0);
    c.config.mutable_sparse()->set_chunk_size(64);  // enough chunks for AUTO
    for (const bool sparse : {true, false}) {
      Rank rank(comm, c);
      EXPECT_FALSE(rank.store().has_own_compute());
      rank.Adopt(sparse ? "SPARSE 0.15" : "LAZY FP32");
      bool differ = false;
      for (int step = 0; step < 6; ++step) {
        rank.Step();
        rank.Begin();
        EXPECT_EQ(rank.store().has_own_compute(), sparse);
        differ = differ || rank.Compute() != rank.Master();
      }
      EXPECT_EQ(differ, sparse);
    }
  });
}

// Other jobs compute with the weights themselves, and have no second pool of them.
TEST(StepAheadStateTest, OnlyWhatMayWaitHasWeightsOfItsOwn) {
  RunLocal(2, 60, [&](Communicator* comm) {
    Case dense;
    dense.config.mutable_sparse()->set_density(1);
    Case off;
    off.config.mutable_sparse()->set_step_ahead(false);
    Case lars;
    lars.solver = "LARS";
    Case lazy;
    lazy.config = TestConfig(CommConfig::LAZY);
    for (const Case& c : {dense, off, lars, lazy}) {
      Rank rank(comm, c);
      rank.Step();
      EXPECT_FALSE(rank.store().has_own_compute()) << c.solver << c.config.DebugString();
    }
    Rank ahead(comm, {});
    EXPECT_TRUE(ahead.store().has_own_compute());
  });
  EXPECT_FALSE(StepsAhead(TestConfig(), "SGD", 1, DType::kFP32, true));
  EXPECT_FALSE(StepsAhead(TestConfig(), "SGD", 2, DType::kBF16, true));
  EXPECT_TRUE(StepsAhead(TestConfig(), "SGD", 2, DType::kBF16, false));
}

// What waits keeps its size where steps go ahead, and fades elsewhere, unless the job says it.
TEST(StepAheadStateTest, MomentumCorrectionIsForJobsThatDoNotGoAhead) {
  const auto kept = [](const std::string& solver, std::optional<bool> correction) {
    double sum = 0;
    RunLocal(2, 60, [&](Communicator* comm) {
      PoolLayout layout = TestLayout();
      ParameterStore store(TestDevice(), layout, PoolLayout(), DType::kFP32, true);
      GradientFlowOptions options;
      options.config = TestConfig();
      options.config.mutable_sparse()->set_warmup_fraction(0);
      if (correction) options.config.mutable_sparse()->set_momentum_correction(*correction);
      options.momentum = kMomentum;
      options.steps_ahead = StepsAhead(options.config, solver, 2, DType::kFP32, true);
      options.device = TestDevice();
      const auto flow = NewGradientFlow(layout, store.gradient(), comm, options);
      for (int step = 0; step < 2; ++step) {
        flow->BeginStep(step);
        for (int64_t i = 0; i < layout.count(); ++i) store.gradient().as<float>()[i] = 1;
        flow->Finish([](const std::vector<ElementRange>&) {});
      }
      if (comm->rank() > 0) return;
      for (const ElementRange& range : flow->waiting().ranges) {
        sum += flow->residual().as<float>()[range.begin];
      }
      sum /= static_cast<double>(flow->waiting().ranges.size());
    });
    return sum;
  };
  EXPECT_FLOAT_EQ(kept("SGD", std::nullopt), 1);
  EXPECT_FLOAT_EQ(kept("SGD", true), kMomentum);
  EXPECT_FLOAT_EQ(kept("LARS", std::nullopt), kMomentum);
  EXPECT_FLOAT_EQ(kept("LARS", false), 1);
}

}  // namespace
}  // namespace gf
