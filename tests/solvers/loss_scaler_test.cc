#include "solvers/loss_scaler.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "comm/flow/gradient_flow.h"
#include "comm/local/communicator.h"
#include "core/error.h"
#include "solvers/solver.h"
#include "tests/solvers/store_for_test.h"

namespace gf {
namespace {

LossScaleConfig Dynamic() {
  LossScaleConfig config;
  config.set_policy(LossScaleConfig::DYNAMIC);
  config.set_scale(1024);
  config.set_growth_interval(3);
  config.set_most_bad_steps(4);
  return config;
}

TEST(LossScalerTest, NoneIsOneAndInactive) {
  const LossScaler scaler{LossScaleConfig()};
  EXPECT_FALSE(scaler.active());
  EXPECT_EQ(scaler.scale(), 1);
}

TEST(LossScalerTest, DynamicDoublesAfterCleanStepsAndHalvesAfterABadOne) {
  LossScaler scaler(Dynamic());
  for (int i = 0; i < 2; ++i) scaler.Taken();
  EXPECT_EQ(scaler.scale(), 1024);
  scaler.Taken();
  EXPECT_EQ(scaler.scale(), 2048);
  scaler.Taken();
  scaler.Taken();
  scaler.Skipped();  // the count begins anew
  EXPECT_EQ(scaler.scale(), 1024);
  scaler.Taken();
  scaler.Taken();
  EXPECT_EQ(scaler.scale(), 1024);
  scaler.Taken();
  EXPECT_EQ(scaler.scale(), 2048);
}

TEST(LossScalerTest, DynamicHasAFloorAndAnEnd) {
  LossScaleConfig config = Dynamic();
  config.set_least(512);
  LossScaler scaler(config);
  for (int i = 0; i < 3; ++i) {
    scaler.Skipped();
    EXPECT_FALSE(scaler.exhausted()) << i;
  }
  EXPECT_EQ(scaler.scale(), 512);
  scaler.Taken();
  for (int i = 0; i < 4; ++i) scaler.Skipped();
  EXPECT_TRUE(scaler.exhausted());
}

TEST(LossScalerTest, StaticStays) {
  LossScaleConfig config = Dynamic();
  config.set_policy(LossScaleConfig::STATIC);
  LossScaler scaler(config);
  for (int i = 0; i < 5; ++i) scaler.Taken();
  scaler.Skipped();
  EXPECT_EQ(scaler.scale(), 1024);
}

TEST(LossScalerTest, ContinuesWhereItWas) {
  LossScaler scaler(Dynamic());
  scaler.Restore(256, 2);
  EXPECT_EQ(scaler.scale(), 256);
  scaler.Taken();
  EXPECT_EQ(scaler.scale(), 512);
  scaler.Restore(std::numeric_limits<double>::quiet_NaN(), 0);  // a damaged checkpoint
  EXPECT_EQ(scaler.scale(), 512);
}

TEST(LossScalerTest, RefusesInvalidSettings) {
  LossScaleConfig config = Dynamic();
  config.set_scale(0);
  EXPECT_THROW(LossScaler{config}, UserError);
  config = Dynamic();
  config.set_least(4096);
  EXPECT_THROW(LossScaler{config}, UserError);
  config = Dynamic();
  config.set_growth_interval(0);
  EXPECT_THROW(LossScaler{config}, UserError);
}

TEST(BadGradientTest, NamesTheLayerNearestToTheLoss) {
  for (DType type : {DType::kFP32, DType::kBF16}) {
    auto store = TestStore(type);
    EXPECT_EQ(LayerWithBadGradient(*store), "");
    for (int entry : {3, 2}) {
      const int64_t at = store->layout().entries()[entry].offset + 1;
      if (type == DType::kFP32) {
        store->gradient().as<float>()[at] = std::numeric_limits<float>::infinity();
      } else {
        store->gradient().as<uint16_t>()[at] = ToBF16(std::numeric_limits<float>::quiet_NaN());
      }
      EXPECT_EQ(LayerWithBadGradient(*store), store->layout().entries()[entry].layer);
    }
  }
}

// What is not finite on one rank is seen by all, and no weight changes.
TEST(OverflowTest, OnOneRankIsSeenByAll) {
  for (const char* mode : {"LAZY", "SPARSE"}) {
    for (const char* wire : {"FP32", "BF16", "FP16"}) {
      RunLocal(3, 60, [&](Communicator* comm) {
        auto store = TestStore();
        auto solver = NewSolver("solver", "LARS", SolverConfig(), store.get());
        GradientFlowOptions options;
        CommConfig::Mode parsed = CommConfig::LAZY;
        CommConfig::Mode_Parse(mode, &parsed);
        options.config.set_mode(parsed);
        CommConfig::WireType type = CommConfig::FP32;
        CommConfig::WireType_Parse(wire, &type);
        options.config.set_wire_type(type);
        options.config.mutable_sparse()->set_chunk_size(64);
        options.config.mutable_sparse()->set_warmup_fraction(0);
        options.deterministic = true;
        options.total_steps = 100;
        options.device = TestDevice();
        auto flow = NewGradientFlow(store->layout(), store->gradient(), comm, options);
        float* const g = store->gradient().as<float>();
        const int64_t count = store->layout().count();
        for (int step = 0; step < 8; ++step) {
          flow->BeginStep(step);
          for (int64_t i = 0; i < count; ++i) g[i] = static_cast<float>(i % 7);
          const bool bad = step % 2 == 1;
          // In another place each time: in important chunks and in others.
          const PoolEntry& entry = store->layout().entries()[step / 2];
          if (bad && comm->rank() == 1) {
            g[entry.offset] = std::numeric_limits<float>::infinity();
          }
          // Finite in memory, but not on the wire.
          if (bad && comm->rank() == 1 && std::string(wire) == "FP16" &&
              parsed == CommConfig::LAZY) {
            g[entry.offset] = 1e30f;
          }
          solver->BeginStep({});
          flow->Finish([&](const std::vector<ElementRange>& ranges) { solver->Inspect(ranges); });
          EXPECT_EQ(solver->Finite() && !flow->overflowed(), !bad)
              << mode << " " << wire << " step " << step;
          if (flow->residual().data != nullptr) {
            for (int64_t i = 0; i < count; ++i) {
              ASSERT_TRUE(std::isfinite(flow->residual().as<float>()[i])) << i;
            }
          }
        }
      });
    }
  }
}

}  // namespace
}  // namespace gf
