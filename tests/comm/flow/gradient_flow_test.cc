#include <gtest/gtest.h>

#include "comm/local/communicator.h"
#include "core/error.h"
#include "tests/comm/flow/gradient_flow_checks.h"

namespace gf {
namespace {

class GradientFlowTest : public testing::TestWithParam<int> {};

TEST_P(GradientFlowTest, DenseModesSumEveryEntryExactlyOnce) {
  RunLocal(GetParam(), 60, CheckDenseModes);
}

INSTANTIATE_TEST_SUITE_P(Ranks, GradientFlowTest, testing::Values(1, 2, 3, 7));

struct Flow : TestFlow {
  Flow(Communicator* comm, CommConfig::Mode mode)
      : TestFlow(OddLayout(), FlowOptions(mode), DType::kFP32, comm) {}
};

TEST(GradientFlowTest, PerTensorHasOneBucketPerTensor) {
  RunLocal(2, 60, [](Communicator* comm) {
    Flow f(comm, CommConfig::PER_TENSOR);
    const std::vector<Bucket> buckets = f.flow->Buckets();
    ASSERT_EQ(buckets.size(), f.layout.entries().size());
    for (size_t i = 0; i < buckets.size(); ++i) {
      EXPECT_EQ(buckets[i].offset, f.layout.entries()[i].offset);
      EXPECT_EQ(buckets[i].count, f.layout.entries()[i].count);
    }
  });
}

TEST(GradientFlowTest, AfterBackwardHasOneBucket) {
  RunLocal(2, 60, [](Communicator* comm) {
    Flow f(comm, CommConfig::AFTER_BACKWARD);
    EXPECT_EQ(f.flow->Buckets().size(), 1u);
  });
}

TEST(GradientFlowTest, AWorldOfOneHasOneBucketForTheWholePool) {
  RunLocal(1, 60, [](Communicator* comm) {
    Flow f(comm, CommConfig::PER_TENSOR);
    const std::vector<Bucket> buckets = f.flow->Buckets();
    ASSERT_EQ(buckets.size(), 1u);
    EXPECT_EQ(buckets[0].offset, 0);
    EXPECT_EQ(buckets[0].count, f.layout.count());
  });
}

TEST(GradientFlowTest, ANetWithoutParametersHasNoBuckets) {
  RunLocal(2, 60, [](Communicator* comm) {
    for (CommConfig::Mode mode : {CommConfig::LAZY, CommConfig::SPARSE}) {
      TestFlow f(PoolLayout(), FlowOptions(mode), DType::kFP32, comm);
      f.flow->BeginStep(0);
      f.flow->Finish([](const std::vector<ElementRange>&) { ADD_FAILURE(); });
    }
  });
}

TEST(GradientFlowTest, ErrorsNameTensorAndStep) {
  RunLocal(2, 0.2, [](Communicator* comm) {
    Flow f(comm, CommConfig::PER_TENSOR);
    f.flow->BeginStep(11);
    if (comm->rank() == 1) return;
    try {
      f.flow->Finish([](const std::vector<ElementRange>&) {});
      ADD_FAILURE() << "no exception";
    } catch (const CommError& e) {
      EXPECT_NE(std::string(e.what()).find("allreduce of p0, step 12"), std::string::npos)
          << e.what();
    }
  });
}

TEST(GradientFlowTest, OverlapStartsBeforeTheEndOfBackward) {
  // Each rank waits, in the middle of backward, for a sum that only overlap can bring.
  RunLocal(2, 60, [](Communicator* comm) {
    Flow f(comm, CommConfig::PER_TENSOR);
    for (int64_t i = 0; i < 10; ++i) f.Set(i, 1);
    f.flow->BeginStep(0);
    f.flow->GradientsReady({0});
    comm->Barrier("behind the first bucket in the queue");
    EXPECT_EQ(f.Get(0), 2);
    f.flow->Finish([](const std::vector<ElementRange>&) {});
  });
}

TEST(GradientFlowTest, WithoutOverlapNothingTravelsDuringBackward) {
  RunLocal(2, 60, [](Communicator* comm) {
    GradientFlowOptions options = FlowOptions(CommConfig::LAZY);
    options.config.set_overlap(false);
    TestFlow f(OddLayout(), options, DType::kFP32, comm);
    for (int64_t i = 0; i < 10; ++i) f.Set(i, 1);
    f.flow->BeginStep(0);
    f.flow->GradientsReady({0, 1, 2, 3, 4, 5});
    comm->Barrier("behind what may be in the queue");
    EXPECT_EQ(f.Get(0), 1);
    f.flow->Finish([](const std::vector<ElementRange>&) {});
    EXPECT_EQ(f.Get(0), 2);
  });
}

TEST(GradientFlowTest, AutomaticThresholdsThatCannotBeChosenAreTheUsersError) {
  RunLocal(2, 60, [](Communicator* comm) {
    GradientFlowOptions options = FlowOptions(CommConfig::LAZY);
    options.config.set_threshold_auto(true);  // but the algorithm is "ring"
    EXPECT_THROW(TestFlow(OddLayout(), options, DType::kFP32, comm), UserError);
    options.config.set_algorithm("auto");
    options.config.set_mode(CommConfig::SPARSE);
    EXPECT_THROW(TestFlow(OddLayout(), options, DType::kFP32, comm), UserError);
  });
}

TEST(GradientFlowTest, AutomaticThresholdsAgreeAndStillSumEverything) {
  RunLocal(3, 60, [](Communicator* comm) {
    GradientFlowOptions options = FlowOptions(CommConfig::LAZY);
    options.config.set_algorithm("auto");
    options.config.set_threshold_auto(true);
    TestFlow f(OddLayout(), options, DType::kFP32, comm);
    for (int step = 0; step < 8; ++step) {
      f.flow->BeginStep(step);
      for (int64_t i = 0; i < f.layout.count(); ++i) f.Set(i, static_cast<float>(step));
      for (size_t e = 0; e < f.layout.entries().size(); ++e) {
        f.flow->GradientsReady({static_cast<int>(e)});
      }
      f.flow->Finish([](const std::vector<ElementRange>&) {});
      for (const PoolEntry& entry : f.layout.entries()) {
        EXPECT_EQ(f.Get(entry.offset), 3.f * static_cast<float>(step));
      }
      const std::string buckets = std::to_string(f.flow->Buckets().size());
      for (const std::string& other : comm->AllGather(buckets, "buckets")) {
        EXPECT_EQ(other, buckets);
      };
    }
  });
}

// Weights that follow w -= sum, kept up by whoever is told to.
std::vector<float> TrainWeights(bool sharded, CommConfig::WireType wire, Communicator* comm) {
  GradientFlowOptions options = FlowOptions(CommConfig::LAZY);
  options.config.set_sharded_update(sharded);
  options.config.set_wire_type(wire);
  const PoolLayout layout = OddLayout();
  std::vector<float> weights(layout.count(), 1.f), momentum(layout.count());
  options.master.desc = {Shape{layout.count()}, DType::kFP32, Layout()};
  options.master.data = weights.data();
  int told = 0;
  options.weights_changed = [&] { ++told; };
  TestFlow f(layout, options, DType::kFP32, comm);
  for (int step = 0; step < 5; ++step) {
    f.flow->BeginStep(step);
    for (size_t e = 0; e < layout.entries().size(); ++e) {
      const PoolEntry& entry = layout.entries()[e];
      for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
        f.Set(i, 1.f / static_cast<float>(1 + (i + step) % 97 + 13 * comm->rank()));
      }
      f.flow->GradientsReady({static_cast<int>(e)});
    }
    f.flow->Finish([&](const std::vector<ElementRange>& ranges) {
      ASSERT_EQ(ranges.size(), 1u);
      const ElementRange& range = ranges[0];
      for (int64_t i = range.begin; i < range.end; ++i) {
        momentum[i] = 0.9f * momentum[i] + f.Get(i);
        weights[i] -= 0.1f * momentum[i];
      }
    });
  }
  EXPECT_EQ(told, sharded && comm->size() > 1 ? 5 : 0);
  Tensor state;
  state.desc = options.master.desc;
  state.data = momentum.data();
  f.flow->Complete(state);
  weights.insert(weights.end(), momentum.begin(), momentum.end());
  return weights;
}

TEST_P(GradientFlowTest, AShardedUpdateEqualsTheWholeOneBitForBit) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    for (CommConfig::WireType wire : {CommConfig::FP32, CommConfig::BF16}) {
      EXPECT_EQ(TrainWeights(true, wire, comm), TrainWeights(false, wire, comm));
    }
  });
}

TEST(GradientFlowTest, AnUnknownAlgorithmListsTheKnownOnes) {
  RunLocal(2, 60, [](Communicator* comm) {
    GradientFlowOptions options = FlowOptions(CommConfig::LAZY);
    options.config.set_algorithm("rings");
    try {
      TestFlow f(OddLayout(), options, DType::kFP32, comm);
      ADD_FAILURE() << "no exception";
    } catch (const UserError& e) {
      EXPECT_NE(std::string(e.what()).find("halving_doubling"), std::string::npos) << e.what();
    }
  });
}

TEST(GradientFlowDeathTest, AGradientThatIsReadyTwiceIsABug) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto ranks = NewLocalCommunicators({"a"}, 60);
  Flow f(ranks[0].get(), CommConfig::LAZY);
  f.flow->BeginStep(3);
  f.flow->GradientsReady({0, 1});
  EXPECT_DEATH(f.flow->GradientsReady({1}), "p1 is ready twice in step 3");
}

}  // namespace
}  // namespace gf
