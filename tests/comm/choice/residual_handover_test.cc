#include "comm/choice/residual_handover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "comm/local/communicator.h"
#include "tests/comm/flow/gradient_flow_checks.h"

namespace gf {
namespace {

PoolLayout OneWeight() {
  PoolLayout layout;
  PoolEntry entry;
  entry.name = "fc.weight";
  entry.shape = Shape{64, 128};
  layout.Add(entry);
  return layout;
}

// Momentum for the sums, as a solver of rate 1 has it: how far the weight moves.
struct Moved {
  double momentum;
  bool nesterov;
  double velocity = 0, distance = 0;
  void Step(double sum, bool carries_momentum) {
    if (carries_momentum) {
      distance += sum;
      return;
    }
    velocity = momentum * velocity + sum;
    distance += nesterov ? momentum * velocity + sum : velocity;
  }
};

class ResidualHandoverTest : public testing::TestWithParam<bool> {};

// In the end every weight has moved as far as without compression: gradients come in the first
// steps, and all of it arrives, by TOPK or, after the handover, by the solver's momentum.
TEST_P(ResidualHandoverTest, WeightsMoveAsFarAsWithoutCompression) {
  const bool nesterov = GetParam();
  RunLocal(2, 60, [&](Communicator* ranks) {
    GradientFlowOptions options = FlowOptions(CommConfig::TOPK);
    options.total_steps = 100;
    options.momentum = 0.9f;
    options.nesterov = nesterov;
    options.config.mutable_topk()->set_density(0.01);
    options.config.mutable_topk()->set_warmup_fraction(0);
    options.config.mutable_topk()->set_momentum_masking(false);
    TestFlow topk(OneWeight(), options, DType::kFP32, ranks);
    GradientFlowOptions dense = FlowOptions(CommConfig::LAZY);
    TestFlow lazy(OneWeight(), dense, DType::kFP32, ranks);
    const int64_t count = topk.layout.count();
    std::vector<Moved> moved(count, {0.9, nesterov}), expected(moved);
    const auto gradient = [&](int64_t i, int step) {
      return static_cast<float>((i * 7919 + step * 31 + ranks->rank() * 17) % 1009 - 504) / 64;
    };
    const auto step = [&](TestFlow* f, int number, bool any, ResidualHandover* handover) {
      f->flow->BeginStep(number);
      for (int64_t i = 0; i < count; ++i) f->Set(i, any ? gradient(i, number) : 0);
      if (handover != nullptr) handover->Merge(0, 1);
      f->flow->GradientsReady({0});
      f->flow->Finish([](const std::vector<ElementRange>&) {});
      for (int64_t i = 0; i < count; ++i) moved[i].Step(f->Get(i), f == &topk);
    };
    for (int number = 0; number < 4; ++number) {
      step(&topk, number, /*any=*/true, nullptr);
      for (int64_t i = 0; i < count; ++i) {
        double sum = gradient(i, number);
        ranks->AllReduce(&sum, 1, ReduceOp::kSum, "a sum");
        expected[i].Step(sum, false);
      }
    }
    ResidualHandover handover(lazy.layout, lazy.gradients, options.device, {0.9f, nesterov});
    handover.Keep(*topk.flow);
    for (int number = 4; number < 400; ++number) {
      step(&lazy, number, /*any=*/false, &handover);
      handover.Done();
      for (int64_t i = 0; i < count; ++i) expected[i].Step(0, false);
    }
    for (int64_t i = 0; i < count; ++i) {
      ASSERT_NEAR(moved[i].distance, expected[i].distance,
                  1e-4 * std::max(1.0, std::abs(expected[i].distance)))
          << i;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Nesterov, ResidualHandoverTest, testing::Bool());

}  // namespace
}  // namespace gf
