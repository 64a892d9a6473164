#include "core/random.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "core/random_words.h"

namespace gf {
namespace {

using Words = std::array<uint32_t, 4>;

// The known answers that come with Salmon et al.'s Random123.
TEST(PhiloxTest, KnownAnswers) {
  EXPECT_EQ(Philox(0, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  // Counter 243f6a88 85a308d3 13198a2e 03707344, key a4093822 299f31d0, low words first.
  EXPECT_EQ(Philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomWordsTest, EveryVariantDrawsTheWordsOfPhilox) {
  std::vector<const RandomWordsKernels*> variants = {&RandomWords_baseline};
  if (BestIsa() >= Isa::kAvx2) variants.push_back(&RandomWords_avx2);
  if (BestIsa() >= Isa::kAvx512) variants.push_back(&RandomWords_avx512);
  const uint64_t begin = (uint64_t{1} << 34) - 64;  // the counter's low word overflows
  for (const RandomWordsKernels* variant : variants) {
    for (int64_t count : {0, 1, 3, 4, 63, 64, 65, 1000}) {
      std::vector<uint32_t> words(count + 1, 77);
      variant->fill(3, 5, begin, count, words.data());
      for (int64_t i = 0; i < count; ++i) {
        ASSERT_EQ(words[i], Philox(3, 5, (begin + i) / 4)[i % 4]) << count << " " << i;
      }
      EXPECT_EQ(words[count], 77u);
    }
  }
}

TEST(RandomTest, DrawsFollowPhiloxInOrder) {
  Random random(7, 9);
  for (uint64_t block = 0; block < 3; ++block) {
    for (uint32_t word : Philox(7, 9, block)) EXPECT_EQ(random.Next(), word);
  }
}

TEST(RandomTest, StreamsOfDifferentUsesAndNumbersDiffer) {
  std::set<uint64_t> ids;
  for (RandomUse use : {RandomUse::kInit, RandomUse::kDropout, RandomUse::kShuffle,
                        RandomUse::kAugment, RandomUse::kDraw}) {
    for (uint64_t a = 0; a < 50; ++a) {
      for (uint64_t b = 0; b < 50; ++b) ids.insert(StreamId(use, a, b));
    }
  }
  EXPECT_EQ(ids.size(), 5u * 50 * 50);
}

TEST(RandomTest, UniformLiesInTheHalfOpenInterval) {
  EXPECT_EQ(ToUniform(0), 0.0f);
  EXPECT_LT(ToUniform(0xffffffffu), 1.0f);
  Random random(1, 1);
  double sum = 0;
  for (int i = 0; i < 100000; ++i) sum += random.Uniform();
  EXPECT_NEAR(sum / 100000, 0.5, 0.005);
}

TEST(RandomTest, BelowReachesEveryValueEquallyOften) {
  Random random(1, 2);
  std::vector<int> seen(7);
  for (int i = 0; i < 70000; ++i) ++seen.at(random.Below(7));
  for (int count : seen) EXPECT_NEAR(count, 10000, 500);
  EXPECT_EQ(random.Below(1), 0u);
}

TEST(RandomTest, GaussianHasMeanZeroAndVarianceOne) {
  Random random(1, 3);
  double sum = 0, squares = 0, fourth = 0;
  const int n = 200000;
  for (int i = 0; i < n; ++i) {
    const double x = random.Gaussian();
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / n, 0, 0.01);
  EXPECT_NEAR(squares / n, 1, 0.02);
  EXPECT_NEAR(fourth / n, 3, 0.15);
}

}  // namespace
}  // namespace gf
