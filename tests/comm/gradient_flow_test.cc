#include <gtest/gtest.h>

#include "comm/local.h"
#include "core/error.h"
#include "tests/comm/gradient_flow_checks.h"

namespace gf {
namespace {

class GradientFlowTest : public testing::TestWithParam<int> {};

TEST_P(GradientFlowTest, PerTensorSumsEveryEntryExactlyOnce) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    CheckSumsOnce("PER_TENSOR", DType::kFP32, comm);
    CheckSumsOnce("PER_TENSOR", DType::kBF16, comm);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, GradientFlowTest, testing::Values(1, 2, 3, 7));

struct Flow {
  explicit Flow(Communicator* comm) : layout(OddLayout()), memory(layout.count()) {
    Tensor gradients;
    gradients.desc.shape = Shape{layout.count()};
    gradients.data = memory.data();
    flow = NewGradientFlow("PER_TENSOR", layout, gradients, comm);
  }
  PoolLayout layout;
  std::vector<float> memory;
  std::unique_ptr<GradientFlow> flow;
};

TEST(GradientFlowTest, PerTensorHasOneBucketPerTensor) {
  RunLocal(2, 60, [](Communicator* comm) {
    Flow f(comm);
    const std::vector<Bucket> plan = f.flow->Plan();
    ASSERT_EQ(plan.size(), f.layout.entries().size());
    for (size_t i = 0; i < plan.size(); ++i) {
      EXPECT_EQ(plan[i].offset, f.layout.entries()[i].offset);
      EXPECT_EQ(plan[i].count, f.layout.entries()[i].count);
    }
  });
}

TEST(GradientFlowTest, AWorldOfOneHasOneBucketForTheWholePool) {
  RunLocal(1, 60, [](Communicator* comm) {
    Flow f(comm);
    const std::vector<Bucket> plan = f.flow->Plan();
    ASSERT_EQ(plan.size(), 1u);
    EXPECT_EQ(plan[0].offset, 0);
    EXPECT_EQ(plan[0].count, f.layout.count());
  });
}

TEST(GradientFlowTest, ANetWithoutParametersHasNoBuckets) {
  RunLocal(2, 60, [](Communicator* comm) {
    const PoolLayout layout;
    const auto flow = NewGradientFlow("PER_TENSOR", layout, Tensor(), comm);
    flow->BeginStep(0);
    flow->Finish([](const Bucket&) { ADD_FAILURE(); });
  });
}

TEST(GradientFlowTest, ErrorsNameTensorAndStep) {
  RunLocal(2, 0.2, [](Communicator* comm) {
    Flow f(comm);
    f.flow->BeginStep(12);
    if (comm->rank() == 1) return;
    try {
      f.flow->Finish([](const Bucket&) {});
      ADD_FAILURE() << "no exception";
    } catch (const CommError& e) {
      EXPECT_NE(std::string(e.what()).find("allreduce of p0, step 12"), std::string::npos)
          << e.what();
    }
  });
}

TEST(GradientFlowTest, AnUnknownModeListsTheKnownOnes) {
  RunLocal(1, 60, [](Communicator* comm) {
    const PoolLayout layout;
    try {
      NewGradientFlow("LAZZY", layout, Tensor(), comm);
      ADD_FAILURE() << "no exception";
    } catch (const UserError& e) {
      EXPECT_NE(std::string(e.what()).find("PER_TENSOR"), std::string::npos) << e.what();
    }
  });
}

TEST(GradientFlowDeathTest, AGradientThatIsReadyTwiceIsABug) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto ranks = NewLocalCommunicators({"a"}, 60);
  Flow f(ranks[0].get());
  f.flow->BeginStep(3);
  f.flow->GradientsReady({0, 1});
  EXPECT_DEATH(f.flow->GradientsReady({1}), "p1 is ready twice in step 3");
}

}  // namespace
}  // namespace gf
