#include "core/telemetry/console.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>

namespace gf {
namespace {

std::string TempFile(const std::string& name) { return testing::TempDir() + "/" + name; }

std::string Contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(ConsoleTest, InAFileEveryLineOfProgressIsALine) {
  const std::string path = TempFile("progress");
  FILE* out = std::fopen(path.c_str(), "w");
  {
    Console console(out);
    console.Progress("step 1");
    console.Progress("step 2");
    console.Line("epoch 1");
  }
  std::fclose(out);
  EXPECT_EQ(Contents(path), "step 1\nstep 2\nepoch 1\n");
}

TEST(ConsoleTest, OnATerminalProgressIsRewrittenInPlace) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) {
    GTEST_SKIP() << "this machine gives no pseudo terminal";
  }
  FILE* out = std::fopen(ptsname(master), "w");
  ASSERT_NE(out, nullptr);
  {
    Console console(out);
    console.Progress("step 10");
    console.Progress("step 9");
    console.Line("done");
    console.Progress("left");
  }
  // The terminal turns \n into \r\n.
  const std::string expected = "\rstep 10\rstep 9 \r      \rdone\r\n\rleft\r\n";
  std::string shown;
  pollfd ready = {master, POLLIN, 0};
  while (shown.size() < expected.size() && poll(&ready, 1, /*ms=*/5000) == 1) {
    char text[256];
    const ssize_t n = read(master, text, sizeof(text));  // what has arrived so far
    ASSERT_GT(n, 0);
    shown.append(text, n);
  }
  EXPECT_EQ(shown, expected);
  std::fclose(out);
  close(master);
}

}  // namespace
}  // namespace gf
