// Gradients in memory that the host does not read, exchanged through host memory.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "comm/local/communicator.h"
#include "tests/comm/flow/separate_flow_checks.h"
#include "tests/comm/separate_device.h"

namespace gf {
namespace {

Device* Separate() {
  static Device* const device = new SeparateDevice;
  return device;
}

class SeparateMemoryTest : public testing::TestWithParam<int> {};

TEST_P(SeparateMemoryTest, DenseModesSumEveryEntryExactlyOnce) {
  RunLocal(GetParam(), 60, [](Communicator* comm) { CheckDenseModesOn(Separate(), comm); });
}

TEST_P(SeparateMemoryTest, SparseEqualsThatOfTheProcessorBitForBit) {
  RunLocal(GetParam(), 60, [](Communicator* comm) { CheckSparseOn(Separate(), comm); });
}

TEST_P(SeparateMemoryTest, TopkEqualsThatOfTheProcessorBitForBit) {
  RunLocal(GetParam(), 60, [](Communicator* comm) { CheckTopkOn(Separate(), comm); });
}

TEST_P(SeparateMemoryTest, LowRankEqualsThatOfTheProcessorBitForBit) {
  RunLocal(GetParam(), 60, [](Communicator* comm) { CheckLowRankOn(Separate(), comm); });
}

TEST_P(SeparateMemoryTest, QuantizedEqualsThatOfTheProcessorBitForBit) {
  RunLocal(GetParam(), 60, [](Communicator* comm) { CheckQuantizedOn(Separate(), comm); });
}

TEST_P(SeparateMemoryTest, ErrorFeedbackEqualsThatOfTheProcessorBitForBit) {
  RunLocal(GetParam(), 60, [](Communicator* comm) { CheckFeedbackOn(Separate(), comm); });
}

// What is packed is rounded to FP16 before the sums are made, on such a device.
TEST_P(SeparateMemoryTest, SparseTravelsInFP16) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    GradientFlowOptions options = FlowOptions(CommConfig::SPARSE);
    options.config.set_wire_type(CommConfig::FP16);
    options.config.mutable_sparse()->set_density(0.9);
    options.config.mutable_sparse()->set_warmup_fraction(0);
    options.total_steps = 4;
    TestFlow expected(OddLayout(), options, DType::kFP32, comm);
    TestFlow tested(OddLayout(), On(Separate(), options), DType::kFP32, comm);
    for (int step = 0; step < 2; ++step) {  // the chunks of the second are still the same
      RandomStep(&expected, step, comm->rank());
      RandomStep(&tested, step, comm->rank());
      for (int64_t i = 0; i < tested.layout.count(); ++i) {
        ASSERT_NEAR(tested.Get(i), expected.Get(i), 0.02) << "step " << step << ", " << i;
      }
    }
  });
}

TEST_P(SeparateMemoryTest, AShardedUpdateEqualsTheWholeOneBitForBit) {
  RunLocal(GetParam(), 60, [](Communicator* comm) {
    EXPECT_EQ(TrainOn(Separate(), true, comm), TrainOn(TestDevice(), false, comm));
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, SeparateMemoryTest, testing::Values(1, 2, 3, 4));

TEST(SeparateMemoryDeathTest, TheHostCannotReadIt) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto memory = Separate()->Allocate(8);
  EXPECT_DEATH(std::memset(memory.get(), 0, 8), "");
}

}  // namespace
}  // namespace gf
