#include "comm/sparse/selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/random.h"

namespace gf {
namespace {

using Ids = std::vector<int64_t>;

Ids Top(const std::vector<float>& norms, int64_t how_many) {
  return SelectTop(norms.data(), ChunkGrid(static_cast<int64_t>(norms.size()), 1), how_many).ids();
}

TEST(DensityTest, FallsLinearlyFromOneOverTheWarmUp) {
  EXPECT_EQ(DensityAt(0, 1000, 0.2, 0.1), 1);
  EXPECT_DOUBLE_EQ(DensityAt(25, 1000, 0.2, 0.1), 0.8);
  EXPECT_DOUBLE_EQ(DensityAt(50, 1000, 0.2, 0.1), 0.6);
  EXPECT_DOUBLE_EQ(DensityAt(99, 1000, 0.2, 0.1), 0.208);
}

TEST(DensityTest, StaysFromTheEndOfTheWarmUpOn) {
  for (const int64_t step : {100, 101, 999, 1000, 5000}) {
    EXPECT_EQ(DensityAt(step, 1000, 0.15, 0.1), 0.15) << step;
  }
}

TEST(DensityTest, WithoutWarmUpItIsThereAtOnce) {
  EXPECT_EQ(DensityAt(0, 1000, 0.15, 0), 0.15);
  EXPECT_EQ(DensityAt(0, 0, 0.15, 0.5), 0.15);
}

TEST(DensityTest, DensityOneIsOneInEveryStep) {
  for (int64_t step = 0; step < 100; ++step) EXPECT_EQ(DensityAt(step, 70, 1, 0.9), 1);
}

TEST(ChunksAtTest, NearestNumberButAtLeastOne) {
  EXPECT_EQ(ChunksAt(0.15, 1906), 286);
  EXPECT_EQ(ChunksAt(0.15, 799), 120);
  EXPECT_EQ(ChunksAt(1, 1906), 1906);
  EXPECT_EQ(ChunksAt(1e-9, 1906), 1);
  EXPECT_EQ(ChunksAt(0.5, 1), 1);
  EXPECT_EQ(ChunksAt(0.5, 0), 0);
}

TEST(SelectTopTest, TheLargestNorms) {
  EXPECT_EQ(Top({3, 1, 4, 1.5, 9, 2, 6}, 3), (Ids{2, 4, 6}));
  EXPECT_EQ(Top({3, 1, 4}, 3), (Ids{0, 1, 2}));
  EXPECT_EQ(Top({3, 1, 4}, 0), Ids{});
  EXPECT_EQ(Top({}, 0), Ids{});
}

TEST(SelectTopTest, OfEqualNormsTheLowerChunk) {
  EXPECT_EQ(Top({1, 2, 2, 2, 1}, 2), (Ids{1, 2}));
  EXPECT_EQ(Top({1, 2, 2, 2, 1}, 4), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(Top(std::vector<float>(1000, 0.f), 3), (Ids{0, 1, 2}));
  EXPECT_EQ(Top({0.f, -0.f, 0.f}, 2), (Ids{0, 1}));
}

TEST(SelectTopTest, NormsThatAreNotFiniteComeFirst) {
  const float inf = std::numeric_limits<float>::infinity(), nan = NAN;
  EXPECT_EQ(Top({3e38f, nan, 5, inf, 7}, 2), (Ids{1, 3}));
  EXPECT_EQ(Top({3e38f, nan, 5, inf, 7}, 3), (Ids{0, 1, 3}));
  EXPECT_EQ(Top({inf, nan, nan, inf}, 2), (Ids{0, 1}));
  EXPECT_EQ(Top({nan, -nan, inf, 1}, 3), (Ids{0, 1, 2}));
}

TEST(SelectTopTest, AgreesWithSortingRandomNormsWithTies) {
  Random random(1, 1);
  for (int trial = 0; trial < 200; ++trial) {
    const int64_t count = 1 + random.Below(300);
    std::vector<float> norms(count);
    for (float& norm : norms) norm = static_cast<float>(random.Below(20));
    Ids expected(count);
    std::iota(expected.begin(), expected.end(), 0);
    std::stable_sort(expected.begin(), expected.end(),
                     [&](int64_t a, int64_t b) { return norms[a] > norms[b]; });
    const int64_t how_many = random.Below(count + 1);
    expected.resize(how_many);
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(Top(norms, how_many), expected);
  }
}

}  // namespace
}  // namespace gf
