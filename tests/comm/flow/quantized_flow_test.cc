// QUANTIZED over several ranks: what is sent and what is kept.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "comm/local/communicator.h"
#include "comm/pack/large_weights.h"
#include "tests/comm/flow/separate_flow_checks.h"

namespace gf {
namespace {

struct Variant {
  int bits;
  bool rotate;
};
constexpr Variant kVariants[] = {{8, false}, {4, false}, {4, true}};

GradientFlowOptions Options(const Variant& variant) {
  GradientFlowOptions options = FlowOptions(CommConfig::QUANTIZED);
  options.config.mutable_quantized()->set_bits(variant.bits);
  options.config.mutable_quantized()->set_rotate(variant.rotate);
  return options;
}

class QuantizedFlowTest : public testing::TestWithParam<int> {};

// The sums that came and the residuals of all ranks are the gradients of all steps; what is no
// large weight is summed exactly.
TEST_P(QuantizedFlowTest, WhatIsSentAndWhatIsKeptAreTheGradients) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    for (const Variant& variant : kVariants) {
      TestFlow f(WeightLayout(), Options(variant), DType::kFP32, comm);
      std::vector<double> given(f.layout.count()), sent(given);
      for (int step = 0; step < 10; ++step) {
        for (int64_t i = 0; i < f.layout.count(); ++i) {
          given[i] += RandomGradient(step, comm->rank(), i);
        }
        RandomStep(&f, step, comm->rank());
        for (int64_t i = 0; i < f.layout.count(); ++i) sent[i] += f.Get(i);
        ASSERT_TRUE(SameOnAllRanks(f.gradients, comm)) << "step " << step;
      }
      const float* const h = f.flow->residual().as<float>();
      std::vector<double> kept(h, h + f.layout.count());
      double most = 0;
      for (const double value : kept) most = std::max(most, std::abs(value));
      // Half a step of the codes of this rank, and of those of the sum.
      EXPECT_LT(most, variant.bits == 8 ? 0.01 * (1 + comm->size()) : 0.4 * (1 + comm->size()));
      comm->AllReduce(kept.data(), f.layout.count(), ReduceOp::kSum, "kept");
      comm->AllReduce(given.data(), f.layout.count(), ReduceOp::kSum, "given");
      for (const PoolEntry& entry : f.layout.entries()) {
        for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
          ASSERT_NEAR(sent[i] + kept[i], given[i], 1e-4) << entry.name << " " << i;
          if (!IsLargeWeight(entry)) {
            ASSERT_EQ(kept[i], 0);
          }
        }
      }
    }
  });
}

// A step is near the exact sum: one rounding per direction, however many ranks there are.
TEST_P(QuantizedFlowTest, ASumIsRoundedOncePerDirection) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    for (const Variant& variant : kVariants) {
      TestFlow f(WeightLayout(), Options(variant), DType::kFP32, comm);
      RandomStep(&f, 0, comm->rank());
      const double levels = variant.bits == 8 ? 127 : 7;
      // Rotated values of 256 gradients from -1 to 1 reach about three times their deviation, and
      // spread errors over the block.
      const double most = variant.rotate ? 2.5 : 1;
      const double world = comm->size();
      const double bound = 1.01 * (world * most / levels / 2 + world * most / levels / 2);
      for (const PoolEntry& entry : f.layout.entries()) {
        for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
          double sum = 0;
          for (int r = 0; r < comm->size(); ++r) sum += double{RandomGradient(0, r, i)};
          ASSERT_NEAR(f.Get(i), sum, IsLargeWeight(entry) ? bound : 1e-5) << entry.name << " " << i;
        }
      }
    }
  });
}

TEST_P(QuantizedFlowTest, SendsAFractionOfTheBytes) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    TestFlow bits8(WeightLayout(), Options({8, false}), DType::kFP32, comm);
    TestFlow bits4(WeightLayout(), Options({4, false}), DType::kFP32, comm);
    TestFlow lazy(WeightLayout(), FlowOptions(CommConfig::LAZY), DType::kFP32, comm);
    for (TestFlow* f : {&bits8, &bits4, &lazy}) RandomStep(f, 0, comm->rank());
    if (comm->size() == 1) return;
    const auto all = static_cast<double>(lazy.flow->stats().wire_bytes);
    EXPECT_NEAR(static_cast<double>(bits8.flow->stats().wire_bytes) / all, 0.254, 0.02);
    EXPECT_NEAR(static_cast<double>(bits4.flow->stats().wire_bytes) / all, 0.129, 0.02);
  });
}

TEST_P(QuantizedFlowTest, CoversEveryEntryOnce) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    TestFlow f(WeightLayout(), Options({8, false}), DType::kFP32, comm);
    EXPECT_EQ(CoveredOnce(&f), "");
  });
}

TEST_P(QuantizedFlowTest, GoesOnFromItsStateWithTheSameBits) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    TestFlow whole(WeightLayout(), Options({4, true}), DType::kFP32, comm);
    TestFlow second(WeightLayout(), Options({4, true}), DType::kFP32, comm);
    for (int step = 0; step < 3; ++step) RandomStep(&whole, step, comm->rank());
    whole.flow->Rescale(0.5f);
    const Tensor from = whole.flow->residual(), to = second.flow->residual();
    std::memcpy(to.data, from.data, from.desc.bytes());
    second.flow->Restore({});
    for (int step = 3; step < 6; ++step) {
      RandomStep(&whole, step, comm->rank());
      RandomStep(&second, step, comm->rank());
      ASSERT_EQ(std::memcmp(whole.host.data, second.host.data, whole.host.desc.bytes()), 0);
      ASSERT_EQ(std::memcmp(from.data, to.data, from.desc.bytes()), 0);
    }
  });
}

// All ranks learn of an infinite gradient, nobody keeps it, and later steps are good again.
TEST_P(QuantizedFlowTest, InfiniteGradientsAreSeenAndForgotten) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    for (const Variant& variant : kVariants) {
      TestFlow f(WeightLayout(), Options(variant), DType::kFP32, comm);
      RandomStep(&f, 0, comm->rank());
      f.flow->BeginStep(1);
      if (comm->rank() == 0) f.Set(5, std::numeric_limits<float>::infinity());
      f.flow->Finish([](const std::vector<ElementRange>&) {});
      EXPECT_FALSE(std::isfinite(f.Get(5)));
      for (int step = 2; step < 4; ++step) RandomStep(&f, step, comm->rank());
      for (int64_t i = 0; i < f.layout.count(); ++i) {
        ASSERT_TRUE(std::isfinite(f.Get(i)));
        ASSERT_TRUE(std::isfinite(f.flow->residual().as<float>()[i]));
      }
      EXPECT_TRUE(SameOnAllRanks(f.gradients, comm));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, QuantizedFlowTest, testing::Values(1, 2, 3, 4, 7));

}  // namespace
}  // namespace gf
