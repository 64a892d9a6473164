// Conversion does not change how far residuals move a weight.
#include "comm/topk/residual_units.h"

#include <gtest/gtest.h>

#include <vector>

namespace gf {
namespace {

constexpr float kMomentum = 0.9f;
constexpr int kSteps = 400;

// The entries of a large and a small weight.
PoolLayout TwoWeights() {
  PoolLayout layout;
  for (const char* const name : {"large.weight", "small.weight"}) {
    PoolEntry entry;
    entry.name = name;
    entry.shape = name[0] == 'l' ? Shape({64, 64}) : Shape({8, 8});
    layout.Add(entry);
  }
  return layout;
}

// How far a gradient that is sent once moves a weight in the end, at rate 1.
double MovedBy(double gradient, bool nesterov) {
  double velocity = 0, moved = 0;
  for (int step = 0; step < kSteps; ++step) {
    const double entering = step == 0 ? gradient : 0;
    velocity = kMomentum * velocity + entering;
    moved += nesterov ? kMomentum * velocity + entering : velocity;
  }
  return moved;
}

// The same of what TOPK keeps, if no more gradients come: Note [Top-k].
double MovedBy(double residual, double velocity, bool nesterov) {
  for (int step = 0; step < kSteps; ++step) {
    velocity = kMomentum * velocity;
    residual += nesterov ? kMomentum * velocity : velocity;
  }
  return residual;
}

TEST(ResidualUnitsTest, AWeightMovesAsFar) {
  const PoolLayout layout = TwoWeights();
  const int64_t large = layout.entries()[0].offset, small = layout.entries()[1].offset;
  for (const bool nesterov : {false, true}) {
    const MomentumOfSolver solver = {kMomentum, nesterov};
    std::vector<float> residual(layout.count(), 3.f);
    const std::vector<float> velocity(layout.count(), -0.5f);
    ToGradients(layout, solver, velocity.data(), residual.data());
    EXPECT_NEAR(MovedBy(residual[large], nesterov), MovedBy(3, -0.5, nesterov), 1e-4);
    EXPECT_NE(residual[large], 3);
    EXPECT_EQ(residual[small], 3);

    std::vector<float> gradients(layout.count(), 0.7f);
    ToTopkResiduals(layout, solver, gradients.data());
    EXPECT_NEAR(MovedBy(gradients[large], 0, nesterov), MovedBy(0.7, nesterov), 1e-4);
    EXPECT_EQ(gradients[small], 0.7f);
  }
}

}  // namespace
}  // namespace gf
