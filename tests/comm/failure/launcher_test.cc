#include "comm/failure/launcher.h"

#include <fcntl.h>
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

// Starts a process `name`, which starts a rank that runs `rank`. Waits until the process has ended;
// returns its status. It ends by itself after 30 seconds.
int RunUnder(const char* name, const std::function<void()>& rank) {
  const pid_t launcher = fork();
  if (launcher == 0) {
    prctl(PR_SET_NAME, name);
    setenv("PMIX_RANK", "0", 1);
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "2", 1);
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

TEST(LauncherTest, EndsAnMpirunThatDoesNotEnd) {
  for (const char* const name : {"mpirun", "mpirun.openmpi", "orterun", "prterun"}) {
    const auto start = Clock::now();
    const int status = RunUnder(name, [] { EndLauncherLater(0.3); });
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
    EXPECT_GE(SecondsSince(start), 0.3);
  }
}

TEST(LauncherTest, SeesThatNobodyReadsItsOutput) {
  const auto tell = [] {
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);  // not the rank's own
    kill(getppid(), Launcher().OutputIsRead() ? SIGUSR1 : SIGUSR2);
  };
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const int own = dup(STDOUT_FILENO);
  dup2(ends[1], STDOUT_FILENO);
  close(ends[1]);
  const int with_reader = RunUnder("mpirun", tell);
  close(ends[0]);
  const int without = RunUnder("mpirun", tell);
  setenv("PRTE_LAUNCHED", "1", 1);
  const int with_open_mpi_5 = RunUnder("mpirun", tell);
  unsetenv("PRTE_LAUNCHED");
  dup2(own, STDOUT_FILENO);
  close(own);
  for (const int status : {with_reader, without, with_open_mpi_5}) {
    ASSERT_TRUE(WIFSIGNALED(status));
  }
  EXPECT_EQ(WTERMSIG(with_reader), SIGUSR1);
  EXPECT_EQ(WTERMSIG(without), SIGUSR2);
  EXPECT_EQ(WTERMSIG(with_open_mpi_5), SIGUSR2);
}

TEST(LauncherTest, FindsItBehindAScript) {
  const int status = RunUnder("mpirun", [] {
    prctl(PR_SET_NAME, "bash");
    if (fork() == 0) {
      EndLauncherLater(0);
      _exit(0);
    }
    wait(nullptr);
  });
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(LauncherTest, LeavesTheMpirunOfOneHostAlone) {
  const int status = RunUnder("mpirun", [] {
    setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "4", 1);
    EndLauncherLater(0);
    usleep(300000);
    kill(getppid(), SIGINT);
  });
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

TEST(LauncherTest, LeavesAnMpirunThatEndsAlone) {
  const int status = RunUnder("prterun", [] {
    EndLauncherLater(0.5);
    kill(getppid(), SIGINT);
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGINT);
}

TEST(LauncherTest, LeavesOtherParentsAlone) {
  for (const char* const name : {"bash", "orted"}) {
    const int status = RunUnder(name, [] {
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
