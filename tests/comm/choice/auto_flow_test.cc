#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "comm/choice/ladder.h"
#include "comm/choice/trials.h"
#include "comm/local/communicator.h"
#include "comm/threaded.h"
#include "tests/comm/choice/auto_flow_for_test.h"
#include "tests/comm/flow/gradient_flow_checks.h"
#include "tests/comm/flow/long_transport.h"

namespace gf {
namespace {

// Ranks of threads with links of some bytes per second.
class SlowCommunicator : public Communicator {
 public:
  SlowCommunicator(Communicator* ranks, double bytes_per_s)
      : ranks_(ranks), bytes_per_s_(bytes_per_s) {
    SetRanks(ranks->rank(), ranks->hosts());
  }

  void Run(const Collective& c, const std::string& label) override {
    const auto bytes = static_cast<double>(c.count * SizeOf(c.wire));
    std::this_thread::sleep_for(std::chrono::duration<double>(bytes / bytes_per_s_));
    ranks_->Run(c, label);
  }
  void AllReduce(double* values, int64_t count, ReduceOp op, const std::string& label) override {
    ranks_->AllReduce(values, count, op, label);
  }
  void AllReduce(int64_t* values, int64_t count, ReduceOp op, const std::string& label) override {
    ranks_->AllReduce(values, count, op, label);
  }
  std::vector<std::string> AllGather(const std::string& mine, const std::string& label) override {
    return ranks_->AllGather(mine, label);
  }
  void Broadcast(std::string* bytes, int root, const std::string& label) override {
    ranks_->Broadcast(bytes, root, label);
  }
  void Barrier(const std::string& label) override { ranks_->Barrier(label); }
  void Finalize() override {}
  [[noreturn]] void Abort(int exit_code) override { std::_Exit(exit_code); }

 private:
  Communicator* const ranks_;
  const double bytes_per_s_;
};

// What two ranks have given to a flow, and what its sums have brought. Nothing may be lost.
class Conservation {
 public:
  Conservation(TestFlow* flow, Communicator* ranks)
      : flow_(flow), ranks_(ranks), given_(flow->layout.count()), sent_(given_) {}

  void Step(int number, double seconds = 0) {
    const std::vector<float> sums = gf::Step(flow_, number, ranks_->rank(), seconds);
    for (int64_t i = 0; i < flow_->layout.count(); ++i) {
      sent_[i] += sums[i];
      for (int rank = 0; rank < 2; ++rank) given_[i] += GradientOf(i, number, rank);
    }
  }

  void Check() {
    std::vector<double> kept(given_.size());
    const Tensor residual = flow_->flow->residual();
    if (residual.data != nullptr) {
      std::copy_n(residual.as<float>(), kept.size(), kept.begin());
      ranks_->AllReduce(kept.data(), flow_->layout.count(), ReduceOp::kSum, "residuals");
    }
    // Sums with a residual are rounded to BF16.
    for (size_t i = 0; i < given_.size(); ++i) {
      ASSERT_NEAR(sent_[i] + kept[i], given_[i], 0.5) << i;
    }
  }

 private:
  TestFlow* const flow_;
  Communicator* const ranks_;
  std::vector<double> given_, sent_;
};

// Runs steps from `first` on until `choice` is made. Returns how many.
int StepsUntil(const ExchangeChoice& choice, TestFlow* f, int first, int rank, double seconds = 0) {
  int steps = 0;
  for (; choice.rungs.empty() && first + steps <= kMostStepsToChoose; ++steps) {
    Step(f, first + steps, rank, seconds);
    if (!choice.rungs.empty()) continue;
    EXPECT_TRUE(f->flow->State().empty()) << "a checkpoint keeps nothing before the choice";
    EXPECT_TRUE(f->flow->important_chunks().empty());
    EXPECT_EQ(f->flow->shared_state().data, nullptr);
  }
  return steps;
}

// "TOPK"
std::string ModeOf(const PricedRung& rung) { return rung.name.substr(0, rung.name.find(' ')); }

// The modes of which the disk was full.
std::set<std::string> Refused(const ExchangeChoice& choice) {
  std::set<std::string> modes;
  for (const PricedRung& rung : choice.rungs) {
    if (rung.verdict == "the disk is full") modes.insert(ModeOf(rung));
  }
  return modes;
}

// Backward takes much longer than a compressor's exchange, so the fastest rung has a rival.
TEST(AutoFlowTest, FirstStepsAreLazyThenAllRanksFollowTheSameRung) {
  constexpr double kCompute_s = 0.02;  // per tensor
  std::vector<std::string> chosen(3);
  RunLocal(3, 60, [&](Communicator* ranks) {
    SlowCommunicator slow(ranks, 20e6);
    GradientFlowOptions options = Automatic();
    ExchangeChoice choice;
    options.chosen = [&](const ExchangeChoice& made) { choice = made; };
    TestFlow automatic(Weights(), options, DType::kFP32, &slow);
    TestFlow lazy(Weights(), FlowOptions(CommConfig::LAZY), DType::kFP32, ranks);
    for (int step = 0; step < StepNotes::kSteps; ++step) {
      ASSERT_EQ(Step(&automatic, step, ranks->rank(), kCompute_s), Step(&lazy, step, ranks->rank()))
          << step;
      ASSERT_TRUE(choice.rungs.empty()) << "too early";
      EXPECT_TRUE(automatic.flow->State().empty());
    }
    // A compressor keeps what it does not send in the unit of the gradients.
    automatic.flow->Rescale(2);
    const int steps = StepsUntil(choice, &automatic, StepNotes::kSteps, ranks->rank(), kCompute_s);
    ASSERT_EQ(choice.rungs.size(), RungNames().size());
    EXPECT_EQ(choice.step, StepNotes::kSteps + steps - 1);
    EXPECT_EQ((steps - 1) % kTrialSteps, 0);
    int tried = 0;
    for (const PricedRung& rung : choice.rungs) tried += rung.tried > 0;
    EXPECT_GE(tried, 2) << "the best by price has a rival";
    EXPECT_LE(tried, 4) << "with the noted rung";
    EXPECT_GE(steps - 1, tried * kTrialSteps);
    EXPECT_LE(steps - 1, tried * kMostTurns * kTrialSteps);
    chosen[ranks->rank()] = choice.rungs[choice.chosen].name;
    EXPECT_NE(choice.rungs[choice.chosen].name, "LAZY FP32") << "slow links";
    EXPECT_LT(choice.rungs[choice.chosen].step, choice.rungs[0].step);
    EXPECT_FALSE(choice.rungs[choice.chosen].verdict.empty());
  });
  for (const std::string& name : chosen) EXPECT_EQ(name, chosen[0]);
}

// An exchange of all gradients would take 5 s. Without room on the disk a form of LAZY follows.
class LightStepsTest : public testing::TestWithParam<bool> {};

TEST_P(LightStepsTest, OnSlowLinksTheFirstStepsAreLightAndLoseNothing) {
  RunLocal(2, 60, [&](Communicator* ranks) {
    GradientFlowOptions options = Automatic();
    options.momentum = 0;  // momentum would enter the sums
    options.config.set_algorithm("auto");
    options.transport = std::make_shared<LongTransport>(
        NewGradientTransport(options.config, false, options.device, ranks), 5e-6);
    if (GetParam()) options.objection = [](const GradientFlow&) { return "the disk is full"; };
    ExchangeChoice choice;
    options.chosen = [&](const ExchangeChoice& made) { choice = made; };
    TestFlow automatic(Weights(), options, DType::kFP32, ranks);
    Conservation conservation(&automatic, ranks);
    // The steps send factors of rank 1 from the first one on.
    for (int number = 0; number < StepNotes::kSteps; ++number) {
      conservation.Step(number);
      EXPECT_LT(automatic.flow->stats().wire_bytes, 10000);
      EXPECT_TRUE(automatic.flow->State().empty());
    }
    EXPECT_TRUE(choice.rungs.empty()) << "too early";
    // The following steps, trials included, send these residuals or keep them.
    for (int number = StepNotes::kSteps; number <= kMostStepsToChoose; ++number) {
      conservation.Step(number);
    }
    EXPECT_EQ(choice.noted, "LOW_RANK 1");
    if (GetParam()) {
      EXPECT_EQ(choice.taken().rfind("LAZY", 0), 0u) << choice.taken();
    }
    conservation.Check();
  });
}

INSTANTIATE_TEST_SUITE_P(DiskIsFull, LightStepsTest, testing::Bool());

// Nothing but SPARSE compresses a vector. Chunks that no flow sends stay in the residual.
TEST(AutoFlowTest, SparseSendsFewChunksFromItsFirstStepOn) {
  PoolLayout layout;
  PoolEntry vector;
  vector.name = "scale";
  vector.shape = Shape{100000};
  layout.Add(vector);
  for (const bool warm_up : {false, true}) {
    RunLocal(2, 60, [&](Communicator* ranks) {
      SlowCommunicator slow(ranks, 4e6);
      GradientFlowOptions options = Automatic();
      options.total_steps = 10 * kMostStepsToChoose;  // the warm-up has hardly begun at the choice
      options.momentum = 0;                           // momentum would enter the sums
      options.config.mutable_sparse()->set_chunk_size(200);
      options.config.mutable_sparse()->set_warmup_fraction(warm_up ? 1 : 0);
      ExchangeChoice choice;
      options.chosen = [&](const ExchangeChoice& made) { choice = made; };
      TestFlow f(layout, options, DType::kFP32, &slow);
      Conservation conservation(&f, ranks);
      const double all = 2 * static_cast<double>(layout.count());  // bytes in BF16
      for (int step = 0; choice.rungs.empty() && step <= kMostStepsToChoose; ++step) {
        conservation.Step(step, /*seconds=*/0.05);
        const auto bytes = static_cast<double>(f.flow->stats().wire_bytes);
        if (!choice.rungs.empty() && warm_up) {
          EXPECT_GT(bytes, 0.7 * all) << "the job's warm-up begins";
        } else if (step >= StepNotes::kSteps) {
          EXPECT_LT(bytes, 0.32 * all) << step;
        }
      }
      EXPECT_GT(choice.step, StepNotes::kSteps) << "SPARSE is tried";
      EXPECT_EQ(choice.taken().rfind("SPARSE", 0), 0u) << choice.taken();
      EXPECT_NE(f.flow->residual().data, nullptr);
      conservation.Check();
    });
  }
}

TEST(AutoFlowTest, WithoutRoomForResidualsLazyIsTaken) {
  RunLocal(2, 60, [&](Communicator* ranks) {
    SlowCommunicator slow(ranks, 20e6);
    GradientFlowOptions options = Automatic();
    int asked = 0;
    options.objection = [&](const GradientFlow& flow) -> std::string {
      EXPECT_FALSE(flow.State().empty());
      ++asked;
      return "the disk is full";
    };
    ExchangeChoice choice;
    options.chosen = [&](const ExchangeChoice& made) { choice = made; };
    TestFlow f(Weights(), options, DType::kFP32, &slow);
    StepsUntil(choice, &f, 0, ranks->rank());
    ASSERT_FALSE(choice.rungs.empty());
    EXPECT_GE(asked, 1);
    EXPECT_EQ(static_cast<int>(Refused(choice).size()), asked) << "each mode was refused once";
    EXPECT_EQ(choice.taken().rfind("LAZY", 0), 0u);
    EXPECT_TRUE(f.flow->State().empty());
  });
}

// The disk has no room for the rung that wins the trials. Another one that was tried follows.
TEST(AutoFlowTest, WithoutRoomForTheWinnerAnotherTriedRungIsTaken) {
  RunLocal(2, 60, [&](Communicator* ranks) {
    SlowCommunicator slow(ranks, 20e6);
    GradientFlowOptions options = Automatic();
    int asked = 0;
    options.objection = [&](const GradientFlow&) -> std::string {
      return ++asked == 2 ? "the disk is full" : "";  // the first time before the trials
    };
    ExchangeChoice choice;
    options.chosen = [&](const ExchangeChoice& made) { choice = made; };
    TestFlow f(Weights(), options, DType::kFP32, &slow);
    StepsUntil(choice, &f, 0, ranks->rank(), /*seconds=*/0.02);
    ASSERT_FALSE(choice.rungs.empty());
    ASSERT_GE(asked, 2);
    const std::set<std::string> refused = Refused(choice);
    ASSERT_EQ(refused.size(), 1u);
    const PricedRung& taken = choice.rungs[choice.chosen];
    EXPECT_EQ(refused.count(ModeOf(taken)), 0u) << taken.name;
    for (const PricedRung& rung : choice.rungs) {
      if (ModeOf(rung) == *refused.begin()) {
        EXPECT_FALSE(rung.priced) << rung.name;
      }
      if (rung.priced && rung.tried > 0) {
        EXPECT_EQ(taken.verdict.rfind("taken: tried, ", 0), 0u) << taken.name << taken.verdict;
      }
    }
  });
}

// Backward takes so long that buckets of one tensor would hide most of what one bucket of all
// tensors exposes.
TEST(AutoFlowTest, ThresholdsThatMakeShorterStepsAreTaken) {
  std::vector<std::string> taken(2);
  RunLocal(2, 60, [&](Communicator* ranks) {
    // The exchange runs beside backward.
    const auto slow =
        NewThreadedCommunicator([&] { return std::make_unique<SlowCommunicator>(ranks, 20e6); });
    GradientFlowOptions options = Automatic();
    options.config.clear_threshold_first();
    options.config.clear_threshold_middle();
    options.config.clear_threshold_last();
    // The mildest rung is good enough.
    options.config.mutable_auto_()->set_exposed(1);
    options.config.mutable_auto_()->set_slower(1000);
    ExchangeChoice choice;
    options.chosen = [&](const ExchangeChoice& made) { choice = made; };
    TestFlow f(Weights(), options, DType::kFP32, slow.get());
    StepsUntil(choice, &f, 0, ranks->rank(), /*seconds=*/0.02);
    ASSERT_FALSE(choice.rungs.empty());
    taken[ranks->rank()] = choice.taken();
    EXPECT_EQ(choice.taken().rfind("LAZY FP32 / ", 0), 0u) << choice.taken();
    EXPECT_GT(choice.rungs[0].buckets, 1);
    TestFlow again(Weights(), options, DType::kFP32, slow.get());
    ASSERT_TRUE(again.flow->Adopt(choice.taken()));
    EXPECT_EQ(f.flow->Buckets().size(), again.flow->Buckets().size());
    EXPECT_GT(f.flow->Buckets().size(), 1u);
  });
  EXPECT_EQ(taken[0], taken[1]);
}

}  // namespace
}  // namespace gf
