#include "core/error.h"

#include <fcntl.h>
#include <glog/logging.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <string>
#include <system_error>

namespace gf {
namespace {

TEST(ErrorTest, StrCatPrintsAsAStreamWould) {
  EXPECT_EQ(StrCat("a", 1, ' ', 2.5, std::string(" b")), "a1 2.5 b");
}

TEST(ErrorTest, ThrowUserErrorJoinsItsArguments) {
  try {
    ThrowUserError("file:", 3, ": bad");
    FAIL();
  } catch (const UserError& e) {
    EXPECT_STREQ(e.what(), "file:3: bad");
  }
}

TEST(ErrorTest, RunMainTurnsExceptionsIntoExitCodes) {
  char name[] = "/bin/program";
  char* argv[] = {name, nullptr};
  EXPECT_EQ(RunMain([](int, char**) { return 7; }, 1, argv), 7);
  EXPECT_EQ(RunMain([](int, char**) -> int { throw UserError("u"); }, 1, argv), 2);
  EXPECT_EQ(RunMain([](int, char**) -> int { throw CommError("c"); }, 1, argv), 3);
  EXPECT_EQ(RunMain([](int, char**) -> int { throw std::bad_alloc(); }, 1, argv), 2);
  EXPECT_EQ(RunMain([](int, char**) -> int { throw std::runtime_error("r"); }, 1, argv), 1);
  const auto no_thread = [](int, char**) -> int {
    throw std::system_error(EAGAIN, std::generic_category());
  };
  EXPECT_EQ(RunMain(no_thread, 1, argv), 2);
}

TEST(ErrorTest, RunMainPrintsOneLineWithTheProgramsName) {
  const std::string program = program_invocation_short_name;
  const auto printed = [](int (*body)(int, char**)) {
    testing::internal::CaptureStderr();
    RunMain(body, 0, nullptr);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(printed([](int, char**) -> int { throw UserError("wrong"); }),
            program + ": error: wrong\n");
  EXPECT_EQ(printed([](int, char**) -> int { throw CommError("gone"); }),
            program + ": communication error: gone\n");
  EXPECT_EQ(printed([](int, char**) -> int { throw std::runtime_error("bug"); }),
            program + ": internal error: bug\n");
  EXPECT_EQ(printed([](int, char**) -> int {
              throw std::bad_alloc();
            }).find(program + ": error: out of memory"),
            0u);
}

TEST(ErrorTest, ALongLineIsOneWrite) {
  const std::string message(2000, 'x');
  int packets[2];
  ASSERT_EQ(pipe2(packets, O_DIRECT), 0);  // each write stays apart
  const int saved = dup(STDERR_FILENO);
  dup2(packets[1], STDERR_FILENO);
  PrintError("error", message);
  dup2(saved, STDERR_FILENO);
  close(saved);
  close(packets[1]);
  char line[4096];
  const ssize_t size = read(packets[0], line, sizeof(line));
  close(packets[0]);
  ASSERT_GT(size, 0);
  EXPECT_EQ(std::string(line, size),
            std::string(program_invocation_short_name) + ": error: " + message + "\n");
}

TEST(ErrorTest, WhatIsPrintedCannotDriveATerminalOrFillIt) {
  const auto printed = [](int (*body)(int, char**)) {
    testing::internal::CaptureStderr();
    RunMain(body, 0, nullptr);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(printed([](int, char**) -> int { throw UserError("a\x1b[31m\nb\xff"); }),
            std::string(program_invocation_short_name) + ": error: a?[31m\nb?\n");
  const std::string endless = printed([](int, char**) -> int {
    throw UserError("FILE: " + std::string(1000000, 'x') + ": remedy");
  });
  EXPECT_LT(endless.size(), 9000u);
  EXPECT_NE(endless.find("error: FILE: xxx"), std::string::npos);
  EXPECT_NE(endless.find("x: remedy\n"), std::string::npos);
}

TEST(ErrorTest, AWarningIsALineWithTheProgramsName) {
  testing::internal::CaptureStderr();
  PrintWarning("left out: ", 3);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            std::string(program_invocation_short_name) + ": warning: left out: 3\n");
  const int before = FLAGS_minloglevel;
  FLAGS_minloglevel = google::GLOG_ERROR;
  testing::internal::CaptureStderr();
  PrintWarning("left out");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  FLAGS_minloglevel = before;
}

}  // namespace
}  // namespace gf
