#include "solvers/train/signals.h"

#include <gtest/gtest.h>

#include <csignal>

namespace gf {
namespace {

TEST(SignalsTest, WhatTheyAskForIsRemembered) {
  WatchSignals();
  EXPECT_FALSE(StopRequested());
  EXPECT_FALSE(CheckpointRequested());
  std::raise(SIGUSR1);
  EXPECT_TRUE(CheckpointRequested());
  ClearCheckpointRequest();
  EXPECT_FALSE(CheckpointRequested());
  EXPECT_FALSE(StopRequested());
  std::raise(SIGTERM);
  EXPECT_TRUE(StopRequested());
}

TEST(SignalsTest, TheSecondInterruptEndsTheProcess) {
  const auto interrupt_twice = [] {
    WatchSignals();
    std::raise(SIGINT);
    if (StopRequested()) std::raise(SIGINT);
  };
  EXPECT_EXIT(interrupt_twice(), ::testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace gf
