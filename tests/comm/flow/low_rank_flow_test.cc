// LOW_RANK over several ranks: what is sent, what is kept, and when everything travels.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "comm/local/communicator.h"
#include "comm/low_rank/matrices.h"
#include "core/error.h"
#include "tests/comm/flow/separate_flow_checks.h"

namespace gf {
namespace {

GradientFlowOptions Options(int rank) {
  GradientFlowOptions options = FlowOptions(CommConfig::LOW_RANK);
  options.config.mutable_low_rank()->set_rank(rank);
  options.config.mutable_low_rank()->set_warmup_fraction(0);
  options.total_steps = 100;
  return options;
}

class LowRankFlowTest : public testing::TestWithParam<int> {};

TEST_P(LowRankFlowTest, WarmsUpAsLazyBitForBit) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    for (const DType dtype : {DType::kFP32, DType::kBF16}) {
      GradientFlowOptions options = Options(2);
      options.config.mutable_low_rank()->set_warmup_fraction(0.03);
      TestFlow tested(WeightLayout(), options, dtype, comm);
      options.config.set_mode(CommConfig::LAZY);
      TestFlow lazy(WeightLayout(), options, dtype, comm);
      for (int step = 0; step < 4; ++step) {
        RandomStep(&tested, step, comm->rank());
        RandomStep(&lazy, step, comm->rank());
        const bool same =
            std::memcmp(tested.host.data, lazy.host.data, lazy.host.desc.bytes()) == 0;
        EXPECT_EQ(same, step < 3) << step;
        if (comm->size() == 1) continue;
        const int64_t sent = tested.flow->stats().wire_bytes, all = lazy.flow->stats().wire_bytes;
        if (step < 3) {
          EXPECT_EQ(sent, all);
        } else {
          EXPECT_LT(5 * sent, all);
        }
      }
    }
  });
}

// The sums that came and the residuals of all ranks are the gradients of all steps.
TEST_P(LowRankFlowTest, WhatIsSentAndWhatIsKeptAreTheGradients) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    for (const int rank : {1, 3, 6}) {
      TestFlow f(WeightLayout(), Options(rank), DType::kFP32, comm);
      std::vector<double> given(f.layout.count()), sent(given);
      for (int step = 0; step < 20; ++step) {
        for (int64_t i = 0; i < f.layout.count(); ++i) {
          given[i] += RandomGradient(step, comm->rank(), i);
        }
        RandomStep(&f, step, comm->rank());
        for (int64_t i = 0; i < f.layout.count(); ++i) sent[i] += f.Get(i);
        ASSERT_TRUE(SameOnAllRanks(f.gradients, comm)) << "step " << step;
      }
      const float* const h = f.flow->residual().as<float>();
      std::vector<double> kept(h, h + f.layout.count());
      comm->AllReduce(kept.data(), f.layout.count(), ReduceOp::kSum, "kept");
      comm->AllReduce(given.data(), f.layout.count(), ReduceOp::kSum, "given");
      int64_t matrices = 0;
      for (const PoolEntry& entry : f.layout.entries()) {
        matrices += HasLowRank(entry, rank);
        for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
          ASSERT_NEAR(sent[i] + kept[i], given[i], 5e-4) << entry.name << " " << i;
          if (!HasLowRank(entry, rank)) {
            ASSERT_EQ(kept[i], 0);
          }
        }
      }
      EXPECT_EQ(matrices, rank == 1 ? 4 : 3);
    }
  });
}

// A gradient of the factors' rank arrives whole, on however many ranks it is spread.
TEST_P(LowRankFlowTest, WhatHasTheRankArrivesWhole) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    TestFlow f(WeightLayout(), Options(2), DType::kFP32, comm);
    const PoolEntry& entry = f.layout.entries()[0];
    const int64_t columns = entry.shape[1];
    const auto gradient = [&](int64_t i, int rank) {
      const auto row = static_cast<double>(i / columns), column = static_cast<double>(i % columns);
      return (1 + rank) * std::sin(row) * std::cos(column) + std::cos(0.3 * row) * (column / 1000);
    };
    f.flow->BeginStep(0);
    for (int64_t i = 0; i < entry.count; ++i) {
      f.Set(entry.offset + i, static_cast<float>(gradient(i, comm->rank())));
    }
    f.flow->Finish([](const std::vector<ElementRange>&) {});
    for (int64_t i = 0; i < entry.count; ++i) {
      double sum = 0;
      for (int rank = 0; rank < comm->size(); ++rank) sum += gradient(i, rank);
      ASSERT_NEAR(f.Get(entry.offset + i), sum, 1e-4 * comm->size() * comm->size()) << i;
      ASSERT_NEAR(f.flow->residual().as<float>()[entry.offset + i], 0, 1e-4 * comm->size());
    }
  });
}

// Trains each tensor of WeightLayout as a linear layer on a squared error, in ten steps of
// `own_samples` samples per rank; the gradient of a sample has rank 1. The targets of the same
// inputs change: were inputs new and independent, the right factors of the last step would see
// little of them, and rounding errors would grow tenfold in every step. Returns the weights.
std::vector<float> TrainLinearLayers(const GradientFlowOptions& options, int own_samples,
                                     Communicator* comm) {
  TestFlow f(WeightLayout(), options, DType::kFP32, comm);
  std::vector<float> weights(f.layout.count());
  for (int step = 0; step < 10; ++step) {
    f.flow->BeginStep(step);
    int number = 0;
    for (const PoolEntry& entry : f.layout.entries()) {
      const int64_t rows = entry.shape[0], columns = entry.count / rows;
      std::vector<double> gradient(entry.count), input(columns);
      for (int sample = 0; sample < own_samples; ++sample) {
        for (int64_t j = 0; j < columns; ++j) {
          input[j] = RandomGradient(sample, comm->rank(), entry.offset + j) /
                     std::sqrt(static_cast<double>(columns));
        }
        for (int64_t i = 0; i < rows; ++i) {
          const float* const row = weights.data() + entry.offset + i * columns;
          const double output = std::inner_product(input.begin(), input.end(), row, 0.0);
          const double target =
              RandomGradient(100 * (step + 1) + sample, comm->rank(), entry.offset + i);
          for (int64_t j = 0; j < columns; ++j) {
            gradient[i * columns + j] += (output - target) * input[j];
          }
        }
      }
      for (int64_t i = 0; i < entry.count; ++i) {
        f.Set(entry.offset + i, static_cast<float>(gradient[i]));
      }
      f.flow->GradientsReady({number++});
    }
    const float rate = 1 / static_cast<float>(own_samples * comm->size());
    f.flow->Finish([&](const std::vector<ElementRange>& ranges) {
      for (const ElementRange& range : ranges) {
        for (int64_t i = range.begin; i < range.end; ++i) weights[i] -= rate * f.Get(i);
      }
    });
  }
  return weights;
}

// Where the ranks together have no more samples than factors have columns, nothing is lost.
TEST_P(LowRankFlowTest, SmallBatchesOfLinearLayersTrainAsWithLazy) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    const int rank = 8, own_samples = rank / comm->size();
    const std::vector<float> lazy =
        TrainLinearLayers(FlowOptions(CommConfig::LAZY), own_samples, comm);
    float largest = 0;
    for (const float w : lazy) largest = std::max(largest, std::abs(w));
    const auto difference = [&](int of_factors) {
      const std::vector<float> tested = TrainLinearLayers(Options(of_factors), own_samples, comm);
      float result = 0;
      for (size_t i = 0; i < lazy.size(); ++i) {
        result = std::max(result, std::abs(tested[i] - lazy[i]));
      }
      return result / largest;
    };
    EXPECT_LT(difference(rank), 1e-5);
    EXPECT_GT(difference(rank / 2), 0.05);
  });
}

TEST_P(LowRankFlowTest, CoversEveryEntryOnce) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    TestFlow f(WeightLayout(), Options(4), DType::kFP32, comm);
    EXPECT_EQ(CoveredOnce(&f), "");
  });
}

TEST_P(LowRankFlowTest, GoesOnFromItsStateWithTheSameBits) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    TestFlow whole(WeightLayout(), Options(2), DType::kFP32, comm);
    TestFlow second(WeightLayout(), Options(2), DType::kFP32, comm);
    for (int step = 0; step < 3; ++step) RandomStep(&whole, step, comm->rank());
    whole.flow->Rescale(0.5f);
    const auto copy = [](const Tensor& from, const Tensor& to) {
      std::memcpy(to.data, from.data, from.desc.bytes());
    };
    copy(whole.flow->residual(), second.flow->residual());
    copy(whole.flow->shared_state(), second.flow->shared_state());
    EXPECT_TRUE(SameOnAllRanks(whole.flow->shared_state(), comm));
    second.flow->Restore({});
    for (int step = 3; step < 6; ++step) {
      RandomStep(&whole, step, comm->rank());
      RandomStep(&second, step, comm->rank());
      ASSERT_EQ(std::memcmp(whole.host.data, second.host.data, whole.host.desc.bytes()), 0);
      ASSERT_EQ(std::memcmp(whole.flow->residual().data, second.flow->residual().data,
                            whole.flow->residual().desc.bytes()),
                0);
    }
  });
}

// In a job that goes on with everything, what was kept is sent.
TEST_P(LowRankFlowTest, ADenseStepSendsWhatWasKept) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    GradientFlowOptions options = Options(2);
    TestFlow before(WeightLayout(), options, DType::kFP32, comm);
    options.config.mutable_low_rank()->set_warmup_fraction(1);
    TestFlow after(WeightLayout(), options, DType::kFP32, comm);
    RandomStep(&before, 0, comm->rank());
    const Tensor from = before.flow->residual(), to = after.flow->residual();
    std::memcpy(to.data, from.data, from.desc.bytes());
    after.flow->Restore({});
    std::vector<double> expected(after.layout.count());
    for (int64_t i = 0; i < after.layout.count(); ++i) {
      expected[i] = double{RandomGradient(1, comm->rank(), i)} + double{from.as<float>()[i]};
    }
    comm->AllReduce(expected.data(), after.layout.count(), ReduceOp::kSum, "expected");
    RandomStep(&after, 1, comm->rank());
    for (const PoolEntry& entry : after.layout.entries()) {
      for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
        ASSERT_NEAR(after.Get(i), expected[i], 1e-5) << i;
        ASSERT_EQ(to.as<float>()[i], 0);
      }
    }
  });
}

// The right factors of the first weight with columns of norm 1, as the next step takes them.
std::vector<float> FirstRightFactors(const TestFlow& f) {
  const int rank = 2;
  const int64_t columns = f.layout.entries()[0].shape[1];
  const float* const right = f.flow->shared_state().as<float>();
  std::vector<float> factors(right, right + rank * columns);
  for (int k = 0; k < rank; ++k) {
    double squares = 0;
    for (int64_t j = 0; j < columns; ++j) {
      squares += double{factors[k * columns + j]} * double{factors[k * columns + j]};
    }
    for (int64_t j = 0; j < columns; ++j) {
      factors[k * columns + j] /= static_cast<float>(std::sqrt(squares));
    }
  }
  return factors;
}

// All ranks learn of an infinite gradient, nobody keeps it, the directions of earlier steps stay,
// and later steps are good again.
TEST_P(LowRankFlowTest, InfiniteGradientsAreSeenAndForgotten) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    TestFlow f(WeightLayout(), Options(2), DType::kFP32, comm);
    RandomStep(&f, 0, comm->rank());
    const std::vector<float> factors = FirstRightFactors(f);
    f.flow->BeginStep(1);
    if (comm->rank() == 0) f.Set(5, std::numeric_limits<float>::infinity());
    f.flow->Finish([](const std::vector<ElementRange>&) {});
    EXPECT_FALSE(std::isfinite(f.Get(5)));
    const std::vector<float> after = FirstRightFactors(f);
    for (size_t i = 0; i < after.size(); ++i) ASSERT_NEAR(after[i], factors[i], 1e-6);
    for (int step = 2; step < 4; ++step) RandomStep(&f, step, comm->rank());
    for (const PoolEntry& entry : f.layout.entries()) {
      for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
        ASSERT_TRUE(std::isfinite(f.Get(i)));
        ASSERT_TRUE(std::isfinite(f.flow->residual().as<float>()[i]));
      }
    }
    EXPECT_TRUE(SameOnAllRanks(f.gradients, comm));
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, LowRankFlowTest, testing::Values(1, 2, 3, 4, 7));

TEST(LowRankFlowErrorTest, ANetWithoutLargeMatricesIsRefused) {
  RunLocal(2, 60, [](Communicator* comm) {
    try {
      TestFlow f(OddLayout(), Options(4), DType::kFP32, comm);
      FAIL() << "accepted";
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("no weight of this net becomes half as long"),
                std::string::npos)
          << error.what();
    }
  });
}

}  // namespace
}  // namespace gf
