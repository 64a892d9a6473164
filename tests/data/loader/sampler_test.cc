#include "data/loader/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

namespace gf {
namespace {

TEST(Permutation, EveryElementOccursOnceForAwkwardSizes) {
  for (const uint64_t size : {1, 2, 3, 4, 5, 7, 8, 9, 10, 31, 32, 33, 255, 257, 1000, 65537}) {
    for (uint64_t epoch = 0; epoch < 3; ++epoch) {
      const Permutation order(size, 7, epoch);
      std::vector<bool> seen(size);
      for (uint64_t i = 0; i < size; ++i) {
        const uint64_t element = order(i);
        ASSERT_LT(element, size);
        ASSERT_FALSE(seen[element]) << size;
        seen[element] = true;
      }
    }
  }
}

TEST(Permutation, HugeSizesStayInRange) {
  const uint64_t size = (uint64_t{1} << 40) + 1;
  const Permutation order(size, 1, 0);
  std::set<uint64_t> seen;
  for (uint64_t i = 0; i < 1000; ++i) {
    EXPECT_LT(order(i), size);
    seen.insert(order(i));
  }
  EXPECT_EQ(seen.size(), 1000u);
}

// Chi-square of where an element goes, over many epochs.
TEST(Permutation, EveryPlaceIsEquallyLikely) {
  for (const int size : {3, 5, 10, 24}) {
    constexpr int kEpochs = 20000;
    std::vector<std::vector<int>> counts(size, std::vector<int>(size));
    for (int epoch = 0; epoch < kEpochs; ++epoch) {
      const Permutation order(size, 3, epoch);
      for (int i = 0; i < size; ++i) ++counts[i][order(i)];
    }
    double chi = 0;
    const double expected = double(kEpochs) / size;
    for (const auto& row : counts) {
      for (const int count : row) chi += (count - expected) * (count - expected) / expected;
    }
    // Mean (size - 1)^2, deviation about sqrt(2) (size - 1).
    const double freedom = (size - 1.0) * (size - 1.0);
    EXPECT_LT(chi, freedom + 6 * std::sqrt(2 * freedom)) << size;
  }
}

TEST(Permutation, AllOrdersOfFourOccurAboutEquallyOften) {
  std::map<std::vector<uint64_t>, int> counts;
  for (int epoch = 0; epoch < 24000; ++epoch) {
    const Permutation order(4, 11, epoch);
    ++counts[{order(0), order(1), order(2), order(3)}];
  }
  EXPECT_EQ(counts.size(), 24u);
  for (const auto& entry : counts) EXPECT_NEAR(entry.second, 1000, 250);
}

TEST(Permutation, NeighborsAreSeparatedAndFixedPointsAreRare) {
  constexpr int kSize = 50000;
  const Permutation order(kSize, 1, 0);
  double distance = 0, product = 0;
  int fixed = 0;
  for (int i = 0; i < kSize; ++i) {
    const double here = order(i), next = order((i + 1) % kSize);
    distance += std::abs(here - next) / kSize;
    product += (here / kSize - 0.5) * (double(i) / kSize - 0.5) * 12;
    fixed += order(i) == static_cast<uint64_t>(i);
  }
  EXPECT_NEAR(distance / kSize, 1.0 / 3, 0.01);
  EXPECT_NEAR(product / kSize, 0, 0.02);
  EXPECT_LE(fixed, 8);
}

TEST(Sampler, EpochsDifferAndSeedsDiffer) {
  Sampler a(1000, 1, true), b(1000, 2, true);
  int same_epoch = 0, same_seed = 0;
  for (int i = 0; i < 1000; ++i) {
    same_epoch += a.At(i).index == a.At(1000 + i).index;
    same_seed += a.At(i).index == b.At(i).index;
  }
  EXPECT_LT(same_epoch, 10);
  EXPECT_LT(same_seed, 10);
}

TEST(Sampler, WithoutShuffleTheOrderFollowsTheSource) {
  Sampler sampler(5, 1, false);
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(sampler.At(i).index, i % 5);
    EXPECT_EQ(sampler.At(i).epoch, i / 5);
  }
}

TEST(Evaluation, EachSampleOccursOnceOnAnyNumberOfRanks) {
  for (const int64_t size : {1, 2, 5, 7, 8, 9, 100, 101}) {
    for (int world = 1; world <= 9; ++world) {
      std::vector<int> uses(size);
      for (int rank = 0; rank < world; ++rank) {
        const SampleRange part = EvaluationPart(size, rank, world);
        for (int64_t i = part.begin; i < part.end; ++i) ++uses.at(i);
        for (const int64_t batch : {1, 3, 16}) {
          const int64_t batches = EvaluationBatches(size, world, batch);
          EXPECT_GE(batches * batch, part.end - part.begin);
          if (rank == 0) {
            EXPECT_LT((batches - 1) * batch, part.end - part.begin);
          }
        }
      }
      EXPECT_EQ(uses, std::vector<int>(size, 1));
    }
  }
}

TEST(Sampler, WindowsShuffleEverySampleOnceAndLocally) {
  for (const int64_t size : {1, 255, 256, 257, 1000, 2560, 5003}) {
    for (const int64_t window : {1, 100, 512, 1024, 6000}) {
      Sampler sampler(size, 7, true, window), other(size, 7, true, window);
      for (int64_t epoch = 0; epoch < 3; ++epoch) {
        std::set<int64_t> seen;
        for (int64_t i = 0; i < size; ++i) {
          const SampleUse use = sampler.At(epoch * size + i);
          EXPECT_EQ(use.epoch, epoch);
          ASSERT_GE(use.index, 0);
          ASSERT_LT(use.index, size);
          seen.insert(use.index);
        }
        ASSERT_EQ(static_cast<int64_t>(seen.size()), size) << "window " << window;
        // A part of a window lies in as few runs as that needs, and one more at each end.
        std::set<int64_t> runs;
        for (int64_t i = 0; i < std::min(size, window); ++i) {
          runs.insert(other.At(epoch * size + i).index / Sampler::kRun);
        }
        if (window < size) {
          EXPECT_LE(static_cast<int64_t>(runs.size()), window / Sampler::kRun + 3);
        }
      }
    }
  }
}

TEST(Sampler, WindowsDifferBetweenEpochsAndAreFoundFromAnyPosition) {
  constexpr int64_t kSize = 3000;
  Sampler straight(kSize, 1, true, 700), jumping(kSize, 1, true, 700);
  std::vector<int64_t> order;
  for (int64_t i = 0; i < 3 * kSize; ++i) order.push_back(straight.At(i).index);
  int64_t equal = 0;
  for (int64_t i = 0; i < kSize; ++i) equal += order[i] == order[i + kSize];
  EXPECT_LT(equal, 30);
  for (int64_t i = 3 * kSize - 1; i > 0; i -= 977) EXPECT_EQ(jumping.At(i).index, order[i]);
}

TEST(Sampler, SharesHoldEachSampleOncePerPassAndMoveOn) {
  for (const int64_t size : {9, 10, 53, 1000}) {
    for (int world = 1; world <= 9; ++world) {
      for (const double exchange : {0.0, 0.1, 0.5, 0.99}) {
        constexpr int64_t kBatch = 4, kPasses = 4;
        const Shares shares = {world, kBatch, exchange};
        Sampler sampler(size, 5, true, 0, shares);
        // [rank][pass], in the order of training.
        std::vector<std::vector<std::vector<int64_t>>> uses(world);
        for (int64_t position = 0; position < (kPasses + 1) * (size + world * kBatch); ++position) {
          const SampleUse use = sampler.At(position);
          auto& passes = uses[position / kBatch % world];
          passes.resize(std::max<size_t>(passes.size(), use.epoch + 1));
          passes[use.epoch].push_back(use.index);
        }
        for (int64_t pass = 0; pass < kPasses; ++pass) {
          std::vector<int> seen(size);
          for (int rank = 0; rank < world; ++rank) {
            for (const int64_t sample : uses[rank][pass]) ++seen.at(sample);
          }
          ASSERT_EQ(seen, std::vector<int>(size, 1)) << size << " " << world << " " << exchange;
        }
        const int64_t moves = std::llround(exchange * double(size) / world);
        for (int rank = 0; rank < world; ++rank) {
          const auto& now = uses[rank][2];
          const SampleRange part = EvaluationPart(size, rank, world);
          ASSERT_EQ(static_cast<int64_t>(now.size()), part.end - part.begin);
          std::set<int64_t> lost(uses[rank][1].begin(), uses[rank][1].end());
          for (const int64_t sample : now) lost.erase(sample);
          std::set<int64_t> told;
          sampler.ForLost(rank, 2, [&](int64_t sample) { told.insert(sample); });
          if (world == 1) continue;  // what it loses it has again
          EXPECT_EQ(lost, told);
          EXPECT_EQ(static_cast<int64_t>(lost.size()), std::min<int64_t>(moves, now.size()));
        }
        if (size == 1000) {
          EXPECT_NE(uses[0][0], uses[0][1]) << "the order of a share does not change";
        }
      }
    }
  }
}

}  // namespace
}  // namespace gf
