// How passes of Winograd's algorithm divide their work: Note [Groups of tiles].

#include "layers/cpu/winograd_pass.h"

#include <gtest/gtest.h>
#include <omp.h>

#include "layers/cpu/winograd_choice.h"

namespace gf {
namespace {

using Work = WinogradPass::Work;

class WinogradPassTest : public testing::Test {
 protected:
  ~WinogradPassTest() override { omp_set_num_threads(threads_); }

  // A convolution of 3x3, with as many inputs as outputs.
  static WinogradPass NewPass(int threads, int64_t images, int64_t side, int64_t channels,
                              bool filters_kept) {
    omp_set_num_threads(threads);
    WinogradPass pass;
    pass.from = pass.to = {channels, 16, side, side};
    pass.pad = {1, 1};
    const WinogradPlan plan = PlanWinograd(images, {side, side}, pass.form, channels, channels, 8);
    pass.filters = WinogradFilters(pass.form, plan.splits[0].large, /*mirrored=*/false, channels,
                                   channels, channels, channels);
    pass.DivideTiles(images, plan.splits, filters_kept);
    return pass;
  }

 private:
  const int threads_ = omp_get_max_threads();
};

TEST_F(WinogradPassTest, ThreadsHaveOwnPanelsIfFiltersAreLargerThanTiles) {
  for (const int threads : {1, 2, 4}) {
    const WinogradPass pass = NewPass(threads, 16, 7, 512, false);
    EXPECT_EQ(pass.work, Work::kPanels) << threads;
    EXPECT_EQ(pass.tiles.groups(), 1);
    EXPECT_EQ(pass.FilterFloats(), threads * pass.filters.PanelFloats());
    EXPECT_EQ(pass.floats(), pass.GroupFloats());
  }
  EXPECT_NE(NewPass(1000, 16, 7, 512, false).work, Work::kPanels) << "fewer panels than threads";
  const WinogradPass kept = NewPass(2, 16, 7, 512, true);
  EXPECT_NE(kept.work, Work::kPanels);
  EXPECT_EQ(kept.FilterFloats(), kept.filters.count());
}

TEST_F(WinogradPassTest, ThreadsHaveOwnGroupsIfThereAreMany) {
  const WinogradPass pass = NewPass(2, 16, 28, 128, false);
  EXPECT_EQ(pass.work, Work::kGroups);
  EXPECT_EQ(pass.tiles.groups() % 2, 0);
  EXPECT_EQ(pass.floats(), 2 * pass.GroupFloats());
  EXPECT_EQ(NewPass(2, 64, 14, 512, false).work, Work::kShared) << "filters leave the caches";
  EXPECT_EQ(NewPass(40, 16, 28, 128, false).work, Work::kShared) << "fewer groups than threads";
}

TEST_F(WinogradPassTest, PartsDivideEvenlyUpToAQuarterOfWaiting) {
  EXPECT_TRUE(DividesEvenly(16, 5));   // 4 rounds, 4 of 20 places idle
  EXPECT_FALSE(DividesEvenly(10, 7));  // 2 rounds, 4 of 14 places idle
  EXPECT_FALSE(DividesEvenly(1, 2));
  EXPECT_TRUE(DividesEvenly(1, 1));
}

}  // namespace
}  // namespace gf
