#include "comm/failure/launcher.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>

namespace gf {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Starts a process `name` which handles SIGTERM by `handler` and starts a rank that runs `rank`.
// Waits until the process has ended; returns its status. It ends by itself after 30 seconds.
int RunUnder(const char* name, void (*handler)(int), const std::function<void()>& rank) {
  const pid_t launcher = fork();
  if (launcher == 0) {
    prctl(PR_SET_NAME, name);
    setenv("PMIX_RANK", "0", 1);
    std::signal(SIGTERM, handler);
    if (fork() == 0) {
      rank();
      _exit(0);
    }
    const auto start = Clock::now();
    while (SecondsSince(start) < 30) usleep(10000);
    _exit(77);
  }
  int status = 0;
  waitpid(launcher, &status, 0);
  return status;
}

// As mpirun does: the first is an orderly end, the second ends at once.
void ExitAtTheSecond(int) {
  static int count = 0;
  if (++count == 2) _exit(1);
}

TEST(LauncherTest, EndsAnMpirunThatDoesNotEnd) {
  const auto start = Clock::now();
  const int status = RunUnder("mpirun", ExitAtTheSecond, [] { EndLauncherLater(0.3); });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_LT(SecondsSince(start), 10);
}

TEST(LauncherTest, KillsAnMpirunThatIgnoresSignals) {
  const int status = RunUnder("mpirun.openmpi", SIG_IGN, [] { EndLauncherLater(0.3); });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(LauncherTest, LeavesAnMpirunThatEndsAlone) {
  const int status = RunUnder("prterun", SIG_DFL, [] {
    EndLauncherLater(0.5);
    kill(getppid(), SIGINT);
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

TEST(LauncherTest, LeavesOtherParentsAlone) {
  for (const char* const name : {"bash", "orted"}) {
    const int status = RunUnder(name, SIG_DFL, [] {
      const bool found = Launcher().found();
      EndLauncherLater(0);
      usleep(300000);
      kill(getppid(), found ? SIGABRT : SIGINT);
    });
    EXPECT_EQ(WTERMSIG(status), SIGINT) << name;
  }
}

TEST(LauncherTest, ThereIsNoneWithoutAJob) {
  unsetenv("PMIX_RANK");
  const Launcher none;
  EXPECT_FALSE(none.found());
  EXPECT_TRUE(none.Ended(0));
  EndLauncherLater(0);
}

}  // namespace
}  // namespace gf
