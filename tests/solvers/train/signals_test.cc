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
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    WatchSignals();
    EXPECT_FALSE(StopRequested());
    std::raise(signal);
    EXPECT_TRUE(StopRequested()) << signal;
  }
}

TEST(SignalsTest, NohupIsRespected) {
  std::signal(SIGHUP, SIG_IGN);
  WatchSignals();
  std::raise(SIGHUP);
  EXPECT_FALSE(StopRequested());
  std::signal(SIGHUP, SIG_DFL);
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
