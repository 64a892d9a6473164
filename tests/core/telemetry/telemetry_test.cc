#include "core/telemetry/telemetry.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <limits>
#include <memory>
#include <sstream>

#include "core/error.h"

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

TEST(JsonLinesTest, AppendsOneObjectPerLineInTheOrderGiven) {
  const std::string path = TempFile("log.jsonl");
  std::remove(path.c_str());
  for (int run = 0; run < 2; ++run) {
    JsonLines log(path);
    nlohmann::ordered_json record;
    record["step"] = run;
    record["loss"] = 0.5;
    log.Write(record);
    // Flushed when written.
    EXPECT_NE(Contents(path).find("{\"step\":" + std::to_string(run)), std::string::npos);
  }
  EXPECT_EQ(Contents(path), "{\"step\":0,\"loss\":0.5}\n{\"step\":1,\"loss\":0.5}\n");
}

TEST(JsonLinesTest, NoPathWritesNothing) {
  JsonLines log("");
  log.Write({{"step", 1}});
}

TEST(JsonLinesTest, NamesTheFileItCannotOpen) {
  try {
    JsonLines log("/nowhere/log.jsonl");
    FAIL() << "no exception";
  } catch (const UserError& e) {
    EXPECT_NE(std::string(e.what()).find("/nowhere/log.jsonl"), std::string::npos) << e.what();
  }
}

TEST(JsonLinesTest, TextThatIsNotUtf8DoesNotEndTheJob) {
  const std::string path = TempFile("bytes.jsonl");
  std::remove(path.c_str());
  JsonLines log(path);
  log.Write({{"key", "a\xff"}});
  EXPECT_NE(Contents(path).find("\"a\xef\xbf\xbd\""), std::string::npos);
}

TEST(JsonLinesTest, AFullDiskIsReportedOnceAndTrainingGoesOn) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  JsonLines log("/dev/full");
  testing::internal::CaptureStderr();
  log.Write({{"step", 1}});
  log.Write({{"step", 2}});
  const std::string message = testing::internal::GetCapturedStderr();
  EXPECT_EQ(message.find("telemetry_test: cannot write /dev/full: "), 0u) << message;
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 1) << message;
}

TEST(HumanTest, Bytes) {
  EXPECT_EQ(HumanBytes(0), "0 B");
  EXPECT_EQ(HumanBytes(512), "512 B");
  EXPECT_EQ(HumanBytes(1500), "1.50 kB");
  EXPECT_EQ(HumanBytes(243.9e6), "244 MB");
  EXPECT_EQ(HumanBytes(12.34e9), "12.3 GB");
  EXPECT_EQ(HumanBytes(1.234e9), "1.23 GB");
  EXPECT_EQ(HumanBytes(999.7e6), "1.00 GB");
  EXPECT_EQ(HumanBytes(5e18), "5000 PB");
}

TEST(HumanTest, Seconds) {
  EXPECT_EQ(HumanSeconds(0.012), "12 ms");
  EXPECT_EQ(HumanSeconds(3.21), "3.2 s");
  EXPECT_EQ(HumanSeconds(12.3), "12 s");
  EXPECT_EQ(HumanSeconds(59.7), "1m00s");
  EXPECT_EQ(HumanSeconds(200), "3m20s");
  EXPECT_EQ(HumanSeconds(3720), "1h02m");
  EXPECT_EQ(HumanSeconds(2 * 86400 + 3 * 3600), "2d03h");
  EXPECT_EQ(HumanSeconds(std::numeric_limits<double>::infinity()), "?");
  EXPECT_EQ(HumanSeconds(-1), "?");
}

TEST(HumanTest, Commas) {
  EXPECT_EQ(WithCommas(0), "0");
  EXPECT_EQ(WithCommas(999), "999");
  EXPECT_EQ(WithCommas(1000), "1,000");
  EXPECT_EQ(WithCommas(61100840), "61,100,840");
  EXPECT_EQ(WithCommas(-123456), "-123,456");
  EXPECT_EQ(WithCommas(INT64_MIN), "-9,223,372,036,854,775,808");
}

}  // namespace
}  // namespace gf
