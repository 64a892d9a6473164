// Error feedback against LAZY on gradients that the test rounds itself.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "comm/local/communicator.h"
#include "core/random.h"
#include "tests/comm/flow/gradient_flow_checks.h"
#include "tests/comm/wire/number_formats.h"

namespace gf {
namespace {

constexpr int kSteps = 5;

GradientFlowOptions FeedbackOptions(CommConfig::WireType wire, bool feedback) {
  GradientFlowOptions options = FlowOptions(CommConfig::LAZY);
  options.config.set_wire_type(wire);
  options.config.set_error_feedback(feedback);
  return options;
}

float Gradient(int rank, int step, int64_t i) {
  const auto words = Philox(static_cast<uint64_t>(step), static_cast<uint64_t>(rank), i);
  return 2 * ToUniform(words[0]) - 1;
}

// One step with gradients(i) for every element of an entry.
template <typename Gradients>
void Step(TestFlow* f, int step, const Gradients& gradients) {
  f->flow->BeginStep(step);
  const auto& entries = f->layout.entries();
  for (size_t e = 0; e < entries.size(); ++e) {
    for (int64_t i = entries[e].offset; i < entries[e].offset + entries[e].count; ++i) {
      f->Set(i, gradients(i));
    }
    f->flow->GradientsReady({static_cast<int>(e)});
  }
  f->flow->Finish([](const std::vector<ElementRange>&) {});
}

class FeedbackFlowTest : public testing::TestWithParam<int> {};

TEST_P(FeedbackFlowTest, EqualsLazyOnRoundedGradientsBitForBit) {
  for (const auto wire : {CommConfig::BF16, CommConfig::FP16}) {
    const DType type = wire == CommConfig::BF16 ? DType::kBF16 : DType::kFP16;
    RunLocal(GetParam(), 60, [&](Communicator* comm) {
      TestFlow lazy(OddLayout(), FeedbackOptions(wire, false), DType::kFP32, comm);
      TestFlow tested(OddLayout(), FeedbackOptions(wire, true), DType::kFP32, comm);
      ASSERT_EQ(tested.flow->Buckets().size(), lazy.flow->Buckets().size());
      std::vector<float> residual(lazy.layout.count());
      for (int step = 0; step < kSteps; ++step) {
        const auto gradient = [&](int64_t i) { return Gradient(comm->rank(), step, i); };
        Step(&tested, step, gradient);
        Step(&lazy, step, [&](int64_t i) {
          const float sum = gradient(i) + residual[i], rounded = Rounded(type, sum);
          residual[i] = sum - rounded;
          return rounded;
        });
        for (const PoolEntry& entry : lazy.layout.entries()) {
          for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
            ASSERT_EQ(tested.Get(i), lazy.Get(i)) << "step " << step << ", " << i;
            ASSERT_EQ(tested.flow->residual().as<float>()[i], residual[i]) << i;
          }
        }
        EXPECT_EQ(tested.flow->stats().wire_bytes, lazy.flow->stats().wire_bytes);
      }
    });
  }
}

// Steps that are lost to rounding one by one arrive in the end.
TEST_P(FeedbackFlowTest, SmallDifferencesAddUp) {
  constexpr float kSmall = 1 + 0x1p-12f;  // BF16 makes 1 of it
  RunLocal(GetParam(), 60, [&](Communicator* comm) {
    const auto sum_of = [&](bool feedback) {
      TestFlow f(OddLayout(), FeedbackOptions(CommConfig::BF16, feedback), DType::kFP32, comm);
      double sum = 0;
      for (int step = 0; step < 64; ++step) {
        // The other ranks' zeros make the sums exact.
        Step(&f, step, [&](int64_t) { return comm->rank() == 0 ? kSmall : 0; });
        sum += f.Get(0);
      }
      return sum;
    };
    EXPECT_EQ(sum_of(false), 64);
    EXPECT_NEAR(sum_of(true), 64.0 * kSmall, 0x1p-8);
    EXPECT_NE(sum_of(true), 64);
  });
}

TEST_P(FeedbackFlowTest, ResidualsAreRescaledAndRestored) {
  RunLocal(GetParam(), 60, [&](Communicator* comm) {
    const GradientFlowOptions options = FeedbackOptions(CommConfig::BF16, true);
    TestFlow whole(OddLayout(), options, DType::kFP32, comm);
    TestFlow second(OddLayout(), options, DType::kFP32, comm);
    const auto step = [&](TestFlow* f, int t) {
      Step(f, t, [&](int64_t i) { return Gradient(comm->rank(), t, i); });
    };
    step(&whole, 0);
    const Tensor from = whole.flow->residual(), to = second.flow->residual();
    whole.flow->Rescale(0.5f);
    std::memcpy(to.data, from.data, from.desc.bytes());
    second.flow->Restore(whole.flow->important_chunks());
    step(&whole, 1);
    step(&second, 1);
    for (int64_t i = 0; i < whole.layout.count(); ++i) {
      ASSERT_EQ(BitsOf(second.Get(i)), BitsOf(whole.Get(i))) << i;
      ASSERT_EQ(BitsOf(to.as<float>()[i]), BitsOf(from.as<float>()[i])) << i;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, FeedbackFlowTest, testing::Values(2, 3, 4, 7));

TEST(FeedbackFlowOfOneTest, NothingTravelsAndNothingIsRounded) {
  RunLocal(1, 60, [&](Communicator* comm) {
    TestFlow f(OddLayout(), FeedbackOptions(CommConfig::BF16, true), DType::kFP32, comm);
    Step(&f, 0, [](int64_t) { return 1.001f; });
    EXPECT_EQ(f.Get(0), 1.001f);
    EXPECT_EQ(f.flow->residual().data, nullptr);
  });
}

TEST(FeedbackFlowErrorTest, GradientsInBF16AreRefused) {
  RunLocal(2, 60, [&](Communicator* comm) {
    try {
      TestFlow f(OddLayout(), FeedbackOptions(CommConfig::FP16, true), DType::kBF16, comm);
      FAIL() << "accepted";
    } catch (const UserError& error) {
      EXPECT_NE(std::string(error.what()).find("gradients are BF16, expected FP32"),
                std::string::npos)
          << error.what();
    }
  });
}

}  // namespace
}  // namespace gf
