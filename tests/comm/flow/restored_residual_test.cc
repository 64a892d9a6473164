// Residuals that another mode or setting has left in a checkpoint: none is lost, and none is sent
// twice.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "comm/local/communicator.h"
#include "tests/comm/flow/separate_flow_checks.h"

namespace gf {
namespace {

constexpr int kSteps = 4;
constexpr int kWorld = 3;

struct Variant {
  const char* name;
  CommConfig::Mode mode;
  double density;  // of SPARSE and TOPK
  double warmup;   // share of steps in which everything travels
  bool feedback = false;
};
constexpr Variant kVariants[] = {
    {"Quantized", CommConfig::QUANTIZED, 1, 0},
    {"LowRank", CommConfig::LOW_RANK, 1, 0},
    {"LowRankFromWarmup", CommConfig::LOW_RANK, 1, 0.5},
    {"Topk", CommConfig::TOPK, 0.1, 0},
    {"TopkSendsAll", CommConfig::TOPK, 1, 0},
    {"TopkFromWarmup", CommConfig::TOPK, 0.1, 0.5},
    {"Sparse", CommConfig::SPARSE, 0.3, 0},
    {"SparseSendsAll", CommConfig::SPARSE, 1, 0},
    {"Feedback", CommConfig::LAZY, 1, 0, true},
};

GradientFlowOptions Options(const Variant& variant) {
  GradientFlowOptions options = FlowOptions(variant.mode);
  options.total_steps = kSteps;
  CommConfig* const config = &options.config;
  config->mutable_sparse()->set_density(variant.density);
  config->mutable_sparse()->set_warmup_fraction(variant.warmup);
  config->mutable_sparse()->set_momentum_correction(false);
  config->mutable_topk()->set_density(variant.density);
  config->mutable_topk()->set_warmup_fraction(variant.warmup);
  config->mutable_low_rank()->set_rank(2);
  config->mutable_low_rank()->set_warmup_fraction(variant.warmup);
  config->set_error_feedback(variant.feedback);
  if (variant.feedback) config->set_wire_type(CommConfig::FP16);
  return options;
}

// What a rank has kept of element i.
float Kept(int rank, int64_t i) { return 2 * RandomGradient(100, rank, i); }

class RestoredResidualTest : public testing::TestWithParam<Variant> {};

TEST_P(RestoredResidualTest, SentAndKeptAreEverything) {
  RunLocal(kWorld, 60, [&](Communicator* comm) {
    TestFlow f(WeightLayout(), Options(GetParam()), DType::kFP32, comm);
    const int64_t count = f.layout.count();
    float* const residual = f.flow->residual().as<float>();
    std::vector<double> all(count), sent(count), kept(count);
    std::vector<int64_t> chunks;
    for (int64_t c = 0; c < static_cast<int64_t>(f.flow->important_chunks().size()); ++c) {
      chunks.push_back(c);
    }
    for (const PoolEntry& entry : f.layout.entries()) {
      for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
        all[i] = residual[i] = Kept(comm->rank(), i);
      }
    }
    f.flow->Restore(chunks);
    // As StepUpdate does it before the first step.
    constexpr float kUnit = 4;
    f.flow->Rescale(kUnit);
    for (double& value : all) value *= kUnit;
    for (int step = 0; step < kSteps; ++step) {
      f.flow->BeginStep(step);
      for (size_t e = 0; e < f.layout.entries().size(); ++e) {
        const PoolEntry& entry = f.layout.entries()[e];
        for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
          f.Set(i, RandomGradient(step, comm->rank(), i));
          all[i] += f.Get(i);
        }
        f.flow->GradientsReady({static_cast<int>(e)});
      }
      f.flow->Finish([&](const std::vector<ElementRange>& ranges) {
        for (const ElementRange& range : ranges) {
          for (int64_t i = range.begin; i < range.end; ++i) sent[i] += f.Get(i);
        }
      });
    }
    const auto state = f.flow->State();  // brings the residual up to date
    for (int64_t i = 0; i < count; ++i) kept[i] = residual[i];
    comm->AllReduce(all.data(), count, ReduceOp::kSum, "all");
    comm->AllReduce(kept.data(), count, ReduceOp::kSum, "kept");
    for (const PoolEntry& entry : f.layout.entries()) {
      // Sums of FP16 numbers are rounded to FP16.
      const double tolerance = GetParam().feedback ? 0.1 : 1e-4;
      for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
        ASSERT_NEAR(sent[i] + kept[i], all[i], tolerance) << entry.name << ", element " << i;
      }
    }
  });
}

// Biases have no residuals from the first step on.
TEST_P(RestoredResidualTest, TensorsThatTravelWholeAreSentAtOnce) {
  if (GetParam().mode == CommConfig::SPARSE || GetParam().feedback) return;
  RunLocal(kWorld, 60, [&](Communicator* comm) {
    TestFlow f(WeightLayout(), Options(GetParam()), DType::kFP32, comm);
    const PoolEntry& bias = f.layout.entries()[1];
    float* const residual = f.flow->residual().as<float>() + bias.offset;
    for (int64_t i = 0; i < bias.count; ++i) residual[i] = Kept(comm->rank(), i);
    f.flow->Restore({});
    for (int step = 0; step < 2; ++step) {
      RandomStep(&f, step, comm->rank(), [](int64_t, float) { return 0.f; });
      for (int64_t i = 0; i < bias.count; ++i) {
        ASSERT_EQ(residual[i], 0);
        float sum = 0;
        for (int r = 0; r < kWorld; ++r) sum += Kept(r, i);
        ASSERT_NEAR(f.Get(bias.offset + i), step == 0 ? sum : 0, 1e-6);
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Modes, RestoredResidualTest, testing::ValuesIn(kVariants),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace gf
