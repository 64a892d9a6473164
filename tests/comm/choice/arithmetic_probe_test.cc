#include "comm/choice/arithmetic_probe.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "comm/choice/ladder.h"
#include "comm/local/communicator.h"
#include "comm/sparse/selection.h"
#include "tests/comm/flow/gradient_flow_checks.h"

namespace gf {
namespace {

class ArithmeticProbeTest : public testing::Test {
 protected:
  ArithmeticProbeTest() {
    for (int i = 0; i < 3; ++i) {
      PoolEntry entry;
      entry.name = "fc" + std::to_string(i) + ".weight";
      entry.shape = Shape{200, 300};
      layout_.Add(entry);
    }
    values_.resize(layout_.count());
    for (size_t i = 0; i < values_.size(); ++i) values_[i] = static_cast<float>(i % 101) - 50;
    gradients_.desc = {Shape{layout_.count()}, DType::kFP32, Layout()};
    gradients_.data = values_.data();
    options_.device = TestDevice();
    options_.momentum = 0.9f;
    options_.total_steps = 1000;
    automatic_.mutable_sparse()->set_chunk_size(1000);
  }

  PoolLayout layout_;
  std::vector<float> values_;
  Tensor gradients_;
  GradientFlowOptions options_;
  CommConfig automatic_;
};

TEST_F(ArithmeticProbeTest, TimesEachPhaseAndLeavesTheGradientsAlone) {
  const std::vector<float> before = values_;
  for (const Rung& rung : LadderOf(automatic_, {layout_, DType::kFP32, "SGD", 3})) {
    SCOPED_TRACE(rung.name);
    RunLocal(3, 60, [&](Communicator* comm) {
      if (comm->rank() != 1) return;  // communicates with nobody
      std::string refusal;
      const auto probed =
          ProbeArithmetic(rung.config, layout_, gradients_, comm, options_, &refusal);
      ASSERT_TRUE(probed) << refusal;
      const CompressorSeconds* const seconds = &probed->seconds;
      const CommConfig::Mode mode = rung.config.mode();
      const bool lazy = mode == CommConfig::LAZY;
      EXPECT_EQ(seconds->before > 0, !lazy);
      EXPECT_EQ(seconds->after > 0, !lazy);
      EXPECT_EQ(seconds->sum > 0, mode == CommConfig::QUANTIZED);
      EXPECT_EQ(seconds->last > 0, mode == CommConfig::SPARSE || mode == CommConfig::LOW_RANK);
      const double all = seconds->before + seconds->sum + seconds->after + seconds->last;
      EXPECT_LT(all, 10);
      const bool sparse = mode == CommConfig::SPARSE;
      const int64_t chunks = ChunksAt(rung.config.sparse().density(), layout_.count() / 1000);
      EXPECT_EQ(probed->important_chunks.size(), sparse ? chunks : 0);
    });
    EXPECT_EQ(values_, before);
  }
}

TEST_F(ArithmeticProbeTest, WhatCannotBeMadeHasAReasonAndNoTimes) {
  RunLocal(2, 60, [&](Communicator* comm) {
    CommConfig config;
    config.set_mode(CommConfig::LOW_RANK);
    config.mutable_low_rank()->set_rank(256);  // no matrix becomes shorter
    std::string refusal;
    EXPECT_FALSE(ProbeArithmetic(config, layout_, gradients_, comm, options_, &refusal));
    EXPECT_NE(refusal.find("no weight of this net becomes half as long"), std::string::npos)
        << refusal;
  });
}

}  // namespace
}  // namespace gf
