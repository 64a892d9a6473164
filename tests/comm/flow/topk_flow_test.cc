// TOPK over several ranks: what is sent, what is kept, and when everything travels.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "comm/local/communicator.h"
#include "comm/pack/large_weights.h"
#include "comm/topk/topk_buckets.h"
#include "tests/comm/flow/separate_flow_checks.h"

namespace gf {
namespace {

GradientFlowOptions Options(double density) {
  GradientFlowOptions options = FlowOptions(CommConfig::TOPK);
  options.config.mutable_topk()->set_density(density);
  options.config.mutable_topk()->set_warmup_fraction(0);
  options.total_steps = 100;
  return options;
}

std::vector<float> Values(const Tensor& pool) {
  return {pool.as<float>(), pool.as<float>() + pool.desc.storage_count()};
}

class TopkFlowTest : public testing::TestWithParam<int> {};

TEST_P(TopkFlowTest, AtDensityOneEqualsLazyBitForBit) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    for (const DType dtype : {DType::kFP32, DType::kBF16}) {
      GradientFlowOptions options = Options(1);
      options.momentum = 0.9f;
      TestFlow tested(WeightLayout(), options, dtype, comm);
      options.config.set_mode(CommConfig::LAZY);
      TestFlow lazy(WeightLayout(), options, dtype, comm);
      for (int step = 0; step < 3; ++step) {
        RandomStep(&tested, step, comm->rank());
        RandomStep(&lazy, step, comm->rank());
        ASSERT_EQ(std::memcmp(tested.host.data, lazy.host.data, lazy.host.desc.bytes()), 0);
        if (comm->size() > 1) {
          EXPECT_EQ(tested.flow->stats().wire_bytes, lazy.flow->stats().wire_bytes);
        }
        EXPECT_TRUE(tested.flow->carries_momentum().empty());
      }
    }
  });
}

// Without momentum the sums that came and the residuals of all ranks are the gradients of all
// steps.
TEST_P(TopkFlowTest, WhatIsSentAndWhatIsKeptAreTheGradients) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    for (const CommConfig::WireType wire : {CommConfig::FP32, CommConfig::BF16}) {
      GradientFlowOptions options = Options(0.02);
      options.config.set_wire_type(wire);
      TestFlow f(WeightLayout(), options, DType::kFP32, comm);
      std::vector<double> given(f.layout.count()), sent(given), scale(given);
      for (int step = 0; step < 20; ++step) {
        for (int64_t i = 0; i < f.layout.count(); ++i)
          given[i] += RandomGradient(step, comm->rank(), i);
        RandomStep(&f, step, comm->rank());
        for (int64_t i = 0; i < f.layout.count(); ++i) sent[i] += f.Get(i);
        ASSERT_TRUE(SameOnAllRanks(f.gradients, comm)) << "step " << step;
      }
      std::vector<float> kept = Values(f.flow->residual());
      std::vector<double> total(kept.begin(), kept.end());
      comm->AllReduce(total.data(), f.layout.count(), ReduceOp::kSum, "kept");
      comm->AllReduce(given.data(), f.layout.count(), ReduceOp::kSum, "given");
      int64_t unsent = 0, checked = 0;
      for (const PoolEntry& entry : f.layout.entries()) {
        for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
          const bool whole = !IsLargeWeight(entry);
          const double tolerance = whole && wire == CommConfig::BF16 ? 0.3 : 1e-4;
          ASSERT_NEAR(sent[i] + total[i], given[i], tolerance) << entry.name << " " << i;
          checked += !whole;
          unsent += !whole && total[i] != 0;
        }
      }
      EXPECT_GT(unsent, checked / 2);
    }
  });
}

TEST_P(TopkFlowTest, CoversEveryEntryOnce) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    TestFlow f(WeightLayout(), Options(0.01), DType::kFP32, comm);
    EXPECT_EQ(CoveredOnce(&f), "");
  });
}

// While messages would be longer than vectors, steps are LAZY's; the solver has the momentum.
TEST_P(TopkFlowTest, WarmsUpWithEverything) {
  const int world = GetParam();
  RunLocal(world, 60, [world](Communicator* comm) {
    GradientFlowOptions options = Options(0.01);
    options.config.mutable_topk()->set_warmup_fraction(0.1);
    options.momentum = 0.9f;
    TestFlow f(WeightLayout(), options, DType::kFP32, comm);
    bool sparse_before = false;
    for (int step = 0; step < 12; ++step) {
      RandomStep(&f, step, comm->rank());
      const double density = TopkDensityAt(step, 100, 0.01, 0.1);
      const bool sparse = density < 1 && density <= TopkLimit(world, DType::kFP32);
      EXPECT_EQ(f.flow->carries_momentum().empty(), !sparse) << step;
      EXPECT_TRUE(sparse || !sparse_before);
      sparse_before = sparse;
      const std::vector<float> h = Values(f.flow->residual());
      const bool kept = std::any_of(h.begin(), h.end(), [](float v) { return v != 0; });
      EXPECT_EQ(kept, sparse) << step;
    }
    EXPECT_TRUE(sparse_before);
    const std::vector<bool> carried = f.flow->carries_momentum();
    for (size_t e = 0; e < carried.size(); ++e) {
      EXPECT_EQ(carried[e], IsLargeWeight(f.layout.entries()[e])) << e;
    }
  });
}

// In a job that goes on at density 1 ranks keep their momentum and send what they have kept.
TEST_P(TopkFlowTest, ADenseStepAfterSparseOnesSendsWhatWasKept) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    GradientFlowOptions options = Options(0.01);
    options.momentum = 0.5f;
    TestFlow before(WeightLayout(), options, DType::kFP32, comm);
    options.config.mutable_topk()->set_density(1);
    TestFlow after(WeightLayout(), options, DType::kFP32, comm);
    for (int step = 0; step < 3; ++step) RandomStep(&before, step, comm->rank());
    const auto from = before.flow->State(), to = after.flow->State();
    ASSERT_EQ(from.size(), 2u);
    EXPECT_EQ(from[0].first, "residual");
    EXPECT_EQ(from[1].first, "velocity");
    for (size_t i = 0; i < from.size(); ++i) {
      std::memcpy(to[i].second.data, from[i].second.data, from[i].second.desc.bytes());
    }
    after.flow->Restore({});
    const std::vector<float> h = Values(from[0].second), u = Values(from[1].second);
    RandomStep(&after, 3, comm->rank());
    EXPECT_FALSE(after.flow->carries_momentum().empty());
    std::vector<double> expected(after.layout.count());
    for (size_t e = 0; e < after.layout.entries().size(); ++e) {
      const PoolEntry& entry = after.layout.entries()[e];
      for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
        const double g = RandomGradient(3, comm->rank(), i);
        expected[i] = IsLargeWeight(entry) ? double{h[i]} + 0.5 * u[i] + g : g;
      }
    }
    comm->AllReduce(expected.data(), after.layout.count(), ReduceOp::kSum, "expected");
    for (int64_t i = 0; i < after.layout.count(); ++i) {
      ASSERT_NEAR(after.Get(i), expected[i], 1e-5) << i;
    }
    for (const float v : Values(to[0].second)) ASSERT_EQ(v, 0);
    EXPECT_TRUE(SameOnAllRanks(after.gradients, comm));
  });
}

TEST_P(TopkFlowTest, GoesOnFromItsStateWithTheSameBits) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    GradientFlowOptions options = Options(0.01);
    options.config.set_wire_type(CommConfig::BF16);
    options.momentum = 0.9f;
    TestFlow whole(WeightLayout(), options, DType::kFP32, comm);
    TestFlow second(WeightLayout(), options, DType::kFP32, comm);
    for (int step = 0; step < 3; ++step) RandomStep(&whole, step, comm->rank());
    whole.flow->Rescale(0.5f);
    const auto from = whole.flow->State(), to = second.flow->State();
    for (size_t i = 0; i < from.size(); ++i) {
      std::memcpy(to[i].second.data, from[i].second.data, from[i].second.desc.bytes());
    }
    second.flow->Restore({});
    for (int step = 3; step < 6; ++step) {
      RandomStep(&whole, step, comm->rank());
      RandomStep(&second, step, comm->rank());
      ASSERT_EQ(std::memcmp(whole.host.data, second.host.data, whole.host.desc.bytes()), 0);
      for (size_t i = 0; i < from.size(); ++i) {
        ASSERT_EQ(std::memcmp(from[i].second.data, to[i].second.data, from[i].second.desc.bytes()),
                  0);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, TopkFlowTest, testing::Values(1, 2, 3, 4, 7));

}  // namespace
}  // namespace gf
