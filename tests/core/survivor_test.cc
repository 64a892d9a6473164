#include "core/survivor.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "core/str_cat.h"

namespace gf {
namespace {

constexpr double kLong_s = 60;

std::string NewPath(const std::string& name) {
  const std::string path = StrCat(::testing::TempDir(), "/", name, ".", getpid());
  unlink(path.c_str());
  return path;
}

// The first word of a file that another process writes, "" if it has not come after some seconds.
std::string WordOf(const std::string& path, double patience_s = 20) {
  std::string word;
  for (int i = 0; i < patience_s * 100 && word.empty(); ++i) {
    std::ifstream(path) >> word;
    if (word.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return word;
}

Survivor::Body WriteReason(const std::string& path) {
  return [path](Survivor::Reason reason) {
    const bool orphaned = reason == Survivor::Reason::kOrphaned;
    std::ofstream(path) << (orphaned ? "orphaned\n" : "deadline\n");
    return false;
  };
}

// Runs `body`, which makes a copy, in a process of its own group. Sends the signals and SIGKILL to
// the group, and waits for the process.
void KillAfter(const std::function<void()>& body) {
  const pid_t process = fork();
  if (process == 0) {
    setpgid(0, 0);
    body();
    // The copy leaves the group first thing.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    kill(0, SIGKILL);
    _exit(1);
  }
  int status = 0;
  waitpid(process, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
}

TEST(SurvivorTest, ActsWhenTheProcessAndItsGroupAreKilled) {
  const std::string path = NewPath("killed");
  KillAfter([&] { new Survivor(kLong_s, WriteReason(path)); });
  EXPECT_EQ(WordOf(path), "orphaned");
}

TEST(SurvivorTest, SeesTheMemoryOfItsStart) {
  const std::string path = NewPath("memory");
  KillAfter([&] {
    std::string text = "before";
    new Survivor(kLong_s, [&](Survivor::Reason) {
      std::ofstream(path) << text << "\n";
      return false;
    });
    text = "after";
  });
  EXPECT_EQ(WordOf(path), "before");
}

TEST(SurvivorTest, ActsAtTheDeadline) {
  const std::string path = NewPath("deadline");
  const Survivor survivor(0.1, WriteReason(path));
  EXPECT_EQ(WordOf(path), "deadline");
}

TEST(SurvivorTest, MayStayAfterTheDeadline) {
  const std::string path = NewPath("stays");
  KillAfter([&] {
    new Survivor(0.05, [=](Survivor::Reason reason) {
      const bool orphaned = reason == Survivor::Reason::kOrphaned;
      WriteReason(orphaned ? path : path + ".before")(reason);
      return true;
    });
  });
  EXPECT_EQ(WordOf(path + ".before"), "deadline");
  EXPECT_EQ(WordOf(path), "orphaned");
}

TEST(SurvivorTest, IgnoresTheSignalsOfPeopleAndBatchSystems) {
  const std::string path = NewPath("signals");
  KillAfter([&] {
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) {
      std::signal(signal, SIG_DFL);
    }
    new Survivor(0.05, [=](Survivor::Reason reason) {
      if (reason == Survivor::Reason::kDeadline) {
        for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) std::raise(signal);
        return true;
      }
      return WriteReason(path)(reason);
    });
  });
  EXPECT_EQ(WordOf(path), "orphaned");
}

TEST(SurvivorTest, ActsWhenItIsTold) {
  const std::string path = NewPath("told");
  Survivor(kLong_s, WriteReason(path)).Act();
  EXPECT_EQ(WordOf(path), "orphaned");
}

TEST(SurvivorTest, DismissedItDoesNothingAndHasEnded) {
  while (waitpid(-1, nullptr, 0) > 0) {  // copies of other tests
  }
  const std::string path = NewPath("dismissed");
  { const Survivor survivor(kLong_s, WriteReason(path)); }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a process is left";
  EXPECT_EQ(WordOf(path, 0.2), "");
}

TEST(SurvivorTest, DismissWaitsForABodyThatHasBegun) {
  const std::string path = NewPath("begun");
  Survivor survivor(0, [&](Survivor::Reason) {
    std::ofstream(path + ".begun") << "begun\n";
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    std::ofstream(path) << "done\n";
    return false;
  });
  EXPECT_EQ(WordOf(path + ".begun"), "begun");
  survivor.Dismiss();
  EXPECT_EQ(WordOf(path, 0.01), "done");
}

TEST(SurvivorTest, DoesNotHoldConnectionsOpen) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Survivor survivor(kLong_s, [](Survivor::Reason) { return false; });
  close(ends[1]);
  pollfd event = {ends[0], POLLIN, 0};
  EXPECT_EQ(poll(&event, 1, 20000), 1);
  EXPECT_NE(event.revents & POLLHUP, 0);
  close(ends[0]);
}

TEST(SurvivorTest, SpeaksToTheGivenFile) {
  const std::string path = NewPath("spoken");
  FILE* const file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  Survivor(
      kLong_s,
      [](Survivor::Reason) {
        dprintf(STDERR_FILENO, "spoken\n");
        return false;
      },
      fileno(file))
      .Act();
  EXPECT_EQ(WordOf(path), "spoken");
  std::fclose(file);
}

}  // namespace
}  // namespace gf
