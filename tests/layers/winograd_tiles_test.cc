#include "layers/cpu/winograd_tiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "layers/cpu/winograd_choice.h"

namespace gf {
namespace {

constexpr WinogradForm kThree = WinogradForm::kThreeTaps;
constexpr WinogradForm kForms[] = {kThree, WinogradForm::kFiveTaps, WinogradForm::kStride2,
                                   WinogradForm::kStride2Data};

// The fewest points of any tiles that cover the results.
int64_t Fewest(int64_t results, WinogradForm form, int most) {
  std::vector<int64_t> fewest(results + 1, 0);
  for (int64_t n = 1; n <= results; ++n) {
    fewest[n] = INT64_MAX;
    for (int size = kFewestWinogradPoints; size <= most; ++size) {
      if (!IsTileSize(form, size)) continue;
      const int64_t rest = std::max<int64_t>(n - ResultsOf(form, size), 0);
      fewest[n] = std::min(fewest[n], size + fewest[rest]);
    }
  }
  return fewest[results];
}

TEST(WinogradTilesTest, TwoSizesNeedFewPoints) {
  for (const WinogradForm form : kForms) {
    for (int most = 6; most <= kMostWinogradPoints; ++most) {
      for (int64_t results = 1; results < 70; ++results) {
        const WinogradSplit split = SplitAxis(results, form, most);
        EXPECT_GE(split.larges * ResultsOf(form, split.large) +
                      split.smalls * ResultsOf(form, split.small),
                  results);
        EXPECT_LE(split.small, split.large);
        EXPECT_LE(split.large, most);
        EXPECT_GT(split.larges, 0);
        EXPECT_EQ(split.smalls == 0, split.small == split.large);
        // At most one point more than with tiles of any sizes.
        EXPECT_LE(split.points(), Fewest(results, form, most) + 1)
            << results << " of form " << static_cast<int>(form);
      }
    }
  }
  EXPECT_EQ(SplitAxis(13, kThree, 7).points(), 19);                   // 5 + 4 + 4 results
  EXPECT_EQ(SplitAxis(14, kThree, 8).points(), 20);                   // 6 + 4 + 4 results
  EXPECT_EQ(SplitAxis(27, WinogradForm::kFiveTaps, 7).points(), 63);  // 9 tiles of 3
  EXPECT_EQ(SplitAxis(7, WinogradForm::kStride2, 9).points(), 16);    // 4 + 3 results
}

TEST(WinogradTilesTest, CoverEachResultOnceAndOrderGroupsByPoints) {
  const int64_t height = 13, width = 10, images = 5;
  for (const WinogradForm form : kForms) {
    for (const int64_t group : {1, 7, 1000}) {
      const std::array<WinogradSplit, 2> splits = {SplitAxis(height, form, 8),
                                                   SplitAxis(width, form, 7)};
      const WinogradTiles tiles(images, splits, form, group);
      EXPECT_EQ(tiles.points(), splits[0].large);
      std::map<std::array<int64_t, 3>, int> covered;
      for (int64_t i = 0; i < tiles.groups(); ++i) {
        const WinogradGroup part = tiles.Group(i);
        EXPECT_LE(part.count(), tiles.most_tiles());
        for (const WinogradTile& tile : part.tiles) {
          for (int r = 0; r < ResultsOf(form, tile.size[0]); ++r) {
            for (int c = 0; c < ResultsOf(form, tile.size[1]); ++c) {
              const int64_t row = tile.result[0] + r, column = tile.result[1] + c;
              if (row < height && column < width) ++covered[{tile.image, row, column}];
            }
          }
        }
        for (int row = 0; row < tiles.points(); ++row) {
          for (int column = 0; column < tiles.points(); ++column) {
            const WinogradTiles::Range range = tiles.TilesWith(part, row, column);
            for (int64_t t = 0; t < part.count(); ++t) {
              const WinogradTile& tile = part.tiles[t];
              EXPECT_EQ(t >= range.begin && t < range.end,
                        row < tile.size[0] && column < tile.size[1])
                  << row << ", " << column << ", tile " << t;
            }
          }
        }
      }
      EXPECT_LE(tiles.most_tiles(), group);
      EXPECT_EQ(covered.size(), static_cast<size_t>(images * height * width));
      for (const auto& [result, times] : covered) EXPECT_EQ(times, 1);
    }
  }
}

// A dry run plans batches and images that no host holds.
TEST(WinogradTilesTest, PlansOfAnySizeAreQuick) {
  const WinogradSplit split = SplitAxis(int64_t{1} << 31, kThree, 8);
  const WinogradTiles tiles(1 << 20, {split, SplitAxis(13, kThree, 8)}, kThree, 48);
  EXPECT_EQ(tiles.groups(), (split.tiles() * 3 << 20) / 48);
  EXPECT_EQ(tiles.Group(tiles.groups() - 1).tiles.back().image, (1 << 20) - 1);
}

TEST(WinogradTilesTest, FiltersOfManyChannelsHaveFewPoints) {
  const auto points = [](int64_t images, int64_t side, int64_t channels) {
    return PlanWinograd(images, {side, side}, kThree, channels, channels, 8).splits[0].large;
  };
  EXPECT_EQ(points(64, 56, 64), 8);
  EXPECT_EQ(points(1, 14, 512), 6) << "transforming filters takes longer than all products";
}

// What winograd_test relies on.
TEST(WinogradTilesTest, StridedPlansHaveTilesOfTwoSizes) {
  const auto plan = [](int64_t images, int64_t height, int64_t width) {
    return PlanWinograd(images, {height, width}, WinogradForm::kStride2, 16, 16, 9).splits;
  };
  EXPECT_EQ(plan(20, 3, 20)[0].large, 7);
  EXPECT_EQ(plan(20, 3, 20)[1].large, 9);
  for (const WinogradSplit& split : plan(24, 7, 7)) EXPECT_NE(split.large, split.small);
}

}  // namespace
}  // namespace gf
