#include "core/readable.h"

#include <gtest/gtest.h>

#include <limits>

namespace gf {
namespace {

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

TEST(HumanTest, Counts) {
  EXPECT_EQ(Counted(1, "rank"), "1 rank");
  EXPECT_EQ(Counted(0, "rank"), "0 ranks");
  EXPECT_EQ(Counted(2, "class", "classes"), "2 classes");
}

}  // namespace
}  // namespace gf
