// Flows of mode AUTO that take a rung that is named, or need none.

#include <gtest/gtest.h>

#include <string>

#include "comm/agree.h"
#include "comm/choice/ladder.h"
#include "comm/choice/trials.h"
#include "comm/local/communicator.h"
#include "tests/comm/choice/auto_flow_for_test.h"

namespace gf {
namespace {

TEST(AutoFlowTest, GoesOnLikeAJobOfTheRungItAdopts) {
  for (const Rung& rung : LadderOf(Automatic().config, {Weights()})) {
    SCOPED_TRACE(rung.name);
    RunLocal(2, 60, [&](Communicator* comm) {
      TestFlow automatic(Weights(), Automatic(), DType::kFP32, comm);
      ASSERT_TRUE(automatic.flow->Adopt(rung.name));
      GradientFlowOptions options = Automatic();
      options.config = rung.config;
      TestFlow by_hand(Weights(), options, DType::kFP32, comm);
      ASSERT_EQ(automatic.flow->State().size(), by_hand.flow->State().size());
      for (int step = 50; step < 56; ++step) {
        ASSERT_EQ(Step(&automatic, step, comm->rank()), Step(&by_hand, step, comm->rank())) << step;
        EXPECT_EQ(automatic.flow->stats().wire_bytes, by_hand.flow->stats().wire_bytes);
        EXPECT_EQ(automatic.flow->carries_momentum(), by_hand.flow->carries_momentum());
        EXPECT_EQ(automatic.flow->important_chunks(), by_hand.flow->important_chunks());
      }
    });
  }
}

TEST(AutoFlowTest, AdoptsOtherThresholds) {
  RunLocal(2, 60, [&](Communicator* comm) {
    GradientFlowOptions options = Automatic();
    options.config.clear_threshold_first();
    options.config.clear_threshold_middle();
    options.config.clear_threshold_last();
    TestFlow whole(Weights(), options, DType::kFP32, comm);
    ASSERT_TRUE(whole.flow->Adopt("LAZY FP32"));
    TestFlow divided(Weights(), options, DType::kFP32, comm);
    ASSERT_TRUE(divided.flow->Adopt("LAZY FP32 / 64"));
    EXPECT_GT(divided.flow->Buckets().size(), whole.flow->Buckets().size());
    EXPECT_EQ(Step(&divided, 0, comm->rank()), Step(&whole, 0, comm->rank()));
    // The job's own thresholds stay.
    options.config.set_threshold_middle(1 << 22);
    TestFlow own(Weights(), options, DType::kFP32, comm);
    EXPECT_FALSE(own.flow->Adopt("LAZY FP32 / 64"));
    EXPECT_TRUE(own.flow->Adopt("LAZY FP32"));
  });
}

TEST(AutoFlowTest, AdoptsOnlyRungsThatGoWithTheJob) {
  RunLocal(2, 60, [](Communicator* comm) {
    GradientFlowOptions options = Automatic();
    options.solver = "LARS";
    TestFlow f(Weights(), options, DType::kFP32, comm);
    EXPECT_FALSE(f.flow->Adopt("TOPK 0.01"));
    EXPECT_FALSE(f.flow->Adopt("TOPK 0.02"));
    EXPECT_FALSE(f.flow->Adopt(""));
    EXPECT_FALSE(f.flow->Adopt("QUANTIZED 8 / 5"));
    EXPECT_TRUE(f.flow->Adopt("QUANTIZED 8"));
  });
}

TEST(AutoFlowTest, OneRankHasNothingToChoose) {
  RunLocal(1, 60, [](Communicator* comm) {
    GradientFlowOptions options = Automatic();
    options.chosen = [](const ExchangeChoice&) { ADD_FAILURE(); };
    TestFlow f(Weights(), options, DType::kFP32, comm);
    for (int step = 0; step < 2 * StepNotes::kSteps; ++step) Step(&f, step, 0);
    EXPECT_EQ(f.flow->Describe(), "none: one rank");
  });
}

TEST(AutoFlowTest, DeterministicJobsMustSetAMode) {
  RunLocal(2, 60, [](Communicator* comm) {
    GradientFlowOptions options = Automatic();
    options.deterministic = true;
    EXPECT_THROW(TestFlow(Weights(), options, DType::kFP32, comm), AgreedError);
  });
}

}  // namespace
}  // namespace gf
