// PERIODIC over several ranks: what moves when, what is kept, and when weights agree.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "comm/local/communicator.h"
#include "tests/comm/flow/separate_flow_checks.h"

namespace gf {
namespace {

constexpr int kSteps = 12, kRound = 4;
constexpr float kRate = 0.125f;

GradientFlowOptions Options(CommConfig::Mode exchange) {
  GradientFlowOptions options = FlowOptions(CommConfig::PERIODIC);
  PeriodicConfig* const periodic = options.config.mutable_periodic();
  periodic->set_steps(kRound);
  periodic->set_warmup_fraction(0);
  periodic->set_exchange(exchange);
  options.config.mutable_sparse()->set_density(0.2);
  options.config.mutable_sparse()->set_warmup_fraction(0);
  options.config.mutable_topk()->set_density(0.05);
  options.config.mutable_topk()->set_warmup_fraction(0);
  options.config.mutable_low_rank()->set_rank(2);
  options.config.mutable_low_rank()->set_warmup_fraction(0);
  options.total_steps = kSteps;
  options.momentum = 0.9f;
  return options;
}

// A rank with weights of its own, which it updates by w -= kRate * g / ranks in the sum.
struct Worker {
  Worker(GradientFlowOptions options, DType dtype, Communicator* communicator)
      : comm(communicator),
        weights(NewPool(options.device)),
        f(WeightLayout(), WithMaster(std::move(options)), dtype, communicator) {}

  static Tensor NewPool(Device* device) {
    const PoolLayout layout = WeightLayout();
    Tensor pool;
    pool.desc = {Shape{layout.count()}, DType::kFP32, Layout()};
    pool.owner = device->Allocate(pool.desc.bytes());
    pool.data = pool.owner.get();
    return pool;
  }
  GradientFlowOptions WithMaster(GradientFlowOptions options) {
    options.master = weights;
    options.weights_changed = [this] { ++synced; };
    return options;
  }

  float* w() const {
    const bool shared = f.host.data == f.gradients.data;
    return shared ? weights.as<float>() : SeparateDevice::HostView(weights).as<float>();
  }
  std::vector<float> Values() const { return {w(), w() + f.layout.count()}; }

  // A step up to the end of the round.
  void Update(int step) {
    f.flow->BeginStep(step);
    for (size_t e = 0; e < f.layout.entries().size(); ++e) {
      const PoolEntry& entry = f.layout.entries()[e];
      for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
        f.Set(i, RandomGradient(step, comm->rank(), i));
      }
      f.flow->GradientsReady({static_cast<int>(e)});
    }
    const float factor = kRate / static_cast<float>(f.flow->summed_ranks());
    f.flow->Finish([&](const std::vector<ElementRange>& ranges) {
      for (const ElementRange& range : ranges) {
        for (int64_t i = range.begin; i < range.end; ++i) w()[i] -= factor * f.Get(i);
      }
    });
  }
  void Step(int step) {
    Update(step);
    if (f.flow->local() && f.flow->round_ends()) f.flow->EndRound({});
  }
  bool SameOnAllRanks() const { return gf::SameOnAllRanks(Host(), comm); }
  Tensor Host() const {
    Tensor host = weights;
    host.data = w();
    return host;
  }

  Communicator* const comm;
  const Tensor weights;
  int synced = 0;
  TestFlow f;
};

class PeriodicFlowTest : public testing::TestWithParam<int> {};

TEST_P(PeriodicFlowTest, TakesTheMeanOfTheWeightsAtTheEndOfARound) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    for (const DType dtype : {DType::kFP32, DType::kBF16}) {
      GradientFlowOptions options = Options(CommConfig::LAZY);
      options.config.set_wire_type(CommConfig::FP32);
      Worker worker(options, dtype, comm);
      for (int step = 0; step < kSteps; ++step) {
        worker.Update(step);
        EXPECT_TRUE(worker.f.flow->local());
        ASSERT_EQ(worker.f.flow->round_ends(), step % kRound == kRound - 1);
        EXPECT_EQ(worker.f.flow->stats().wire_bytes, 0);
        if (!worker.f.flow->round_ends()) continue;
        EXPECT_EQ(worker.SameOnAllRanks(), comm->size() == 1);
        const std::vector<float> own = worker.Values();
        std::vector<double> mean(own.begin(), own.end());
        comm->AllReduce(mean.data(), worker.f.layout.count(), ReduceOp::kSum, "weights");
        bool asked = false;
        worker.f.flow->EndRound([&] {
          asked = true;
          EXPECT_EQ(worker.Values(), own);  // nothing has changed yet
        });
        EXPECT_TRUE(asked);
        EXPECT_TRUE(worker.SameOnAllRanks());
        EXPECT_EQ(worker.synced, (step + 1) / kRound);
        EXPECT_EQ(worker.f.flow->stats().allreduces > 0, comm->size() > 1);
        for (int64_t i = 0; i < worker.f.layout.count(); ++i) {
          ASSERT_NEAR(worker.w()[i], mean[i] / comm->size(), 1e-6) << i;
        }
      }
    }
  });
}

// Sums of differences that have moved the weights and residuals of all ranks are the differences.
TEST_P(PeriodicFlowTest, WhatIsSentAndWhatIsKeptAreTheDifferences) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    for (const CommConfig::Mode exchange :
         {CommConfig::SPARSE, CommConfig::TOPK, CommConfig::LOW_RANK, CommConfig::QUANTIZED}) {
      SCOPED_TRACE(CommConfig::Mode_Name(exchange));
      Worker worker(Options(exchange), DType::kFP32, comm);
      const int64_t count = worker.f.layout.count();
      std::vector<double> given(count);
      for (int step = 0; step < kSteps; ++step) {
        const std::vector<float> before = worker.Values();
        worker.Update(step);
        for (int64_t i = 0; i < count; ++i) given[i] += double{before[i]} - worker.w()[i];
        if (worker.f.flow->round_ends()) worker.f.flow->EndRound({});
        ASSERT_TRUE(!worker.f.flow->round_ends() || worker.SameOnAllRanks()) << step;
      }
      std::vector<double> total(count);
      for (const auto& [name, pool] : worker.f.flow->State()) {
        if (name != "outer_residual") continue;
        for (int64_t i = 0; i < count; ++i) total[i] = pool.as<float>()[i];
      }
      comm->AllReduce(total.data(), count, ReduceOp::kSum, "kept");
      comm->AllReduce(given.data(), count, ReduceOp::kSum, "given");
      double kept = 0;
      for (const PoolEntry& entry : worker.f.layout.entries()) {
        for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
          const double moved = -double{worker.w()[i]} * comm->size();
          ASSERT_NEAR(moved + total[i], given[i], 2e-5) << entry.name << " " << i;
          kept += std::fabs(total[i]);
        }
      }
      EXPECT_GT(kept, 1);
    }
  });
}

TEST_P(PeriodicFlowTest, WarmsUpLikeLazy) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    GradientFlowOptions options = Options(CommConfig::LAZY);
    options.config.mutable_periodic()->set_warmup_fraction(0.5);
    Worker tested(options, DType::kFP32, comm);
    options.config.set_mode(CommConfig::LAZY);
    Worker lazy(options, DType::kFP32, comm);
    for (int step = 0; step < kSteps / 2; ++step) {
      tested.Step(step);
      lazy.Step(step);
      EXPECT_FALSE(tested.f.flow->local());
      ASSERT_EQ(tested.Values(), lazy.Values()) << step;
      EXPECT_EQ(tested.f.flow->stats().wire_bytes, lazy.f.flow->stats().wire_bytes);
    }
    // The first round starts from the weights of the warm-up.
    const std::vector<float> anchor = tested.Values();
    for (int step = kSteps / 2; step < kSteps / 2 + kRound; ++step) tested.Step(step);
    EXPECT_TRUE(tested.SameOnAllRanks());
    EXPECT_NE(tested.Values(), anchor);
  });
}

// Pools and weights of a rank are all that another flow needs to go on with the same bits.
TEST_P(PeriodicFlowTest, GoesOnWithTheSameBits) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    for (const CommConfig::Mode exchange : {CommConfig::LAZY, CommConfig::SPARSE, CommConfig::TOPK,
                                            CommConfig::LOW_RANK, CommConfig::QUANTIZED}) {
      GradientFlowOptions options = Options(exchange);
      options.config.mutable_periodic()->set_outer_momentum(0.5);
      options.config.mutable_periodic()->set_outer_lr(0.7f);
      Worker whole(options, DType::kFP32, comm), second(options, DType::kFP32, comm);
      for (int step = 0; step < 2 * kRound; ++step) whole.Step(step);
      std::memcpy(second.w(), whole.w(), whole.weights.desc.bytes());
      const auto from = whole.f.flow->State(), to = second.f.flow->State();
      ASSERT_EQ(from.back().first, "outer_momentum");
      for (size_t i = 0; i < from.size(); ++i) {
        std::memcpy(to[i].second.data, from[i].second.data, from[i].second.desc.bytes());
      }
      const Tensor shared = whole.f.flow->shared_state();
      if (shared.data != nullptr) {
        std::memcpy(second.f.flow->shared_state().data, shared.data, shared.desc.bytes());
      }
      second.f.flow->Restore(whole.f.flow->important_chunks());
      for (int step = 2 * kRound; step < kSteps; ++step) {
        whole.Step(step);
        second.Step(step);
      }
      EXPECT_EQ(whole.Values(), second.Values()) << CommConfig::Mode_Name(exchange);
    }
  });
}

// A longer training has a longer warm-up, to which a checkpoint of a round may belong.
TEST_P(PeriodicFlowTest, RanksThatGoBackToTheWarmUpUpdateAlike) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    for (const double warmup : {0.5, 0.0}) {
      GradientFlowOptions options = Options(CommConfig::LAZY);
      options.config.mutable_periodic()->set_warmup_fraction(warmup);
      const Tensor momentum = Worker::NewPool(options.device);
      const float own = static_cast<float>(comm->rank() + 1) / 3;
      momentum.as<float>()[7] = own;
      options.solver_state = {{"momentum", momentum}};
      Worker worker(options, DType::kFP32, comm);
      worker.f.flow->Restore({});
      worker.Step(0);
      EXPECT_EQ(momentum.as<float>()[7], worker.f.flow->local() ? own : 1.f / 3);
    }
  });
}

TEST_P(PeriodicFlowTest, FeedbackKeepsWhatTheWireTypeTakes) {
  if (GetParam() == 1) GTEST_SKIP() << "nothing travels";
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    GradientFlowOptions options = Options(CommConfig::LAZY);
    options.config.set_wire_type(CommConfig::BF16);
    options.config.set_error_feedback(true);
    Worker worker(options, DType::kBF16, comm);
    for (int step = 0; step < kRound; ++step) worker.Step(step);
    EXPECT_TRUE(worker.SameOnAllRanks());
    const auto state = worker.f.flow->State();
    ASSERT_EQ(state.size(), 1u);
    EXPECT_EQ(state[0].first, "outer_residual");
    double kept = 0;
    for (int64_t i = 0; i < worker.f.layout.count(); ++i) {
      kept += std::fabs(state[0].second.as<float>()[i]);
    }
    EXPECT_GT(kept, 0);
  });
}

TEST_P(PeriodicFlowTest, DifferencesThatAreNotFiniteEndTraining) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    GradientFlowOptions options = Options(CommConfig::SPARSE);
    options.config.mutable_sparse()->set_density(0.01);
    Worker worker(options, DType::kFP32, comm);
    for (int step = 0; step < kRound; ++step) worker.Step(step);
    for (int step = kRound; step < 2 * kRound; ++step) worker.Update(step);
    // In every chunk of one rank, so that some are not exchanged.
    if (comm->rank() == 0) {
      for (int64_t i = 0; i < worker.f.layout.count(); i += 500) worker.w()[i] = INFINITY;
    }
    try {
      worker.f.flow->EndRound({});
      ADD_FAILURE() << "accepted";
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("step 8: differences of weights are not finite"),
                std::string::npos)
          << error.what();
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, PeriodicFlowTest, testing::Values(1, 2, 3, 4, 7));

TEST(PeriodicFlowErrorTest, TheExchangesMistakesNameItsSetting) {
  RunLocal(2, 60, [](Communicator* comm) {
    GradientFlowOptions options = Options(CommConfig::LOW_RANK);
    options.config.mutable_low_rank()->set_rank(256);  // no matrix becomes shorter
    try {
      const Worker worker(options, DType::kFP32, comm);
      FAIL() << "accepted";
    } catch (const UserError& error) {
      EXPECT_EQ(std::string(error.what()).rfind("comm.periodic.exchange: LOW_RANK: no weight", 0),
                0u)
          << error.what();
    }
  });
}

// On memory that the host does not read, through the host: the bits of the processor.
TEST(PeriodicFlowOnDeviceTest, MakesTheBitsOfTheProcessor) {
  static auto* const separate = new SeparateDevice;
  RunLocal(3, 60, [](Communicator* comm) {
    for (const CommConfig::Mode exchange : {CommConfig::LAZY, CommConfig::SPARSE}) {
      for (const DType dtype : {DType::kFP32, DType::kBF16}) {
        GradientFlowOptions options = Options(exchange);
        options.config.mutable_periodic()->set_outer_momentum(0.9f);
        options.config.mutable_periodic()->set_warmup_fraction(0.1);
        Worker expected(options, dtype, comm), tested(On(separate, options), dtype, comm);
        for (int step = 0; step < kSteps; ++step) {
          expected.Step(step);
          tested.Step(step);
          ASSERT_EQ(tested.Values(), expected.Values()) << step;
        }
      }
    }
  });
}

}  // namespace
}  // namespace gf
