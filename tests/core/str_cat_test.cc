#include "core/str_cat.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>

namespace gf {
namespace {

enum Color { kRed = 3 };

template <typename T>
std::string Stream(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

TEST(StrCatTest, TextsOfAllKinds) {
  const std::string text = "b";
  char mutable_text[] = "c";
  EXPECT_EQ(StrCat("a", text, mutable_text, std::string_view("d"), 'e', ""), "abcde");
  EXPECT_EQ(StrCat(), "");
  EXPECT_EQ(StrCat(std::string(100000, 'x')).size(), 100000u);
}

TEST(StrCatTest, IntegersWithAllDigits) {
  EXPECT_EQ(StrCat(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(StrCat(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(StrCat(true, false, short{-7}, size_t{8}, uint8_t{200}), "10-78200");
  EXPECT_EQ(StrCat(kRed), "3");
}

TEST(StrCatTest, NumbersAsAStreamPrintsThem) {
  for (const double value :
       {0.0, -0.0, 1.0, 0.1, 1.0 / 3, 123456.0, 1234567.0, 1e-5, 6.5e300,
        std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(StrCat(value), Stream(value));
    EXPECT_EQ(StrCat(static_cast<float>(value)), Stream(static_cast<float>(value)));
  }
  EXPECT_NE(StrCat(std::numeric_limits<double>::quiet_NaN()).find("nan"), std::string::npos);
  const int x = 0;
  EXPECT_EQ(StrCat(&x), Stream(&x));
}

}  // namespace
}  // namespace gf
