#include "solvers/train/signals.h"

#include <gtest/gtest.h>

#include <csignal>

namespace gf {
namespace {

TEST(SignalWatchTest, RemembersWhatWasAskedFor) {
  SignalWatch watch;
  EXPECT_FALSE(watch.stop_requested());
  EXPECT_FALSE(watch.checkpoint_requested());
  std::raise(SIGUSR1);
  EXPECT_TRUE(watch.checkpoint_requested());
  watch.ClearCheckpointRequest();
  EXPECT_FALSE(watch.checkpoint_requested());
  std::raise(SIGTERM);
  EXPECT_TRUE(watch.stop_requested());
}

TEST(SignalWatchTest, GivesTheSignalsBack) {
  { SignalWatch watch; }
  EXPECT_EXIT(std::raise(SIGTERM), ::testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace gf
