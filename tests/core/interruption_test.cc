#include "core/interruption.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "core/error.h"

namespace gf {
namespace {

volatile std::sig_atomic_t handled = 0;

int InterruptedBody(int, char**) {
  const InterruptionGuard guard;
  std::raise(SIGTERM);
  guard.Check();
  return 0;
}

TEST(InterruptionTest, CheckThrowsTheSignal) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const InterruptionGuard guard;
    guard.Check();
    std::raise(signal);
    try {
      guard.Check();
      FAIL() << signal;
    } catch (const Interrupted& interrupted) {
      EXPECT_EQ(interrupted.signal, signal);
    }
  }
}

TEST(InterruptionTest, RunMainEndsTheProcessByTheSignal) {
  EXPECT_EXIT(RunMain(InterruptedBody, 0, nullptr), testing::KilledBySignal(SIGTERM), "^$");
}

TEST(InterruptionTest, ASignalAfterTheLastCheckTakesEffectAtTheEnd) {
  const auto late = [] {
    const InterruptionGuard guard;
    std::raise(SIGHUP);
  };
  EXPECT_EXIT(late(), testing::KilledBySignal(SIGHUP), "");
}

TEST(InterruptionTest, TheSecondInterruptEndsTheProcess) {
  const auto twice = [] {
    const InterruptionGuard guard;
    std::raise(SIGINT);
    std::raise(SIGINT);
    std::_Exit(0);
  };
  EXPECT_EXIT(twice(), testing::KilledBySignal(SIGINT), "");
}

TEST(InterruptionTest, EarlierHandlersReturnAndIgnoredSignalsStayIgnored) {
  std::signal(SIGTERM, [](int) { handled = 1; });
  std::signal(SIGHUP, SIG_IGN);
  {
    const InterruptionGuard guard;
    std::raise(SIGHUP);
    guard.Check();
    EXPECT_EQ(handled, 0);
  }
  std::raise(SIGTERM);
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(std::signal(SIGHUP, SIG_DFL), SIG_IGN);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace
}  // namespace gf
