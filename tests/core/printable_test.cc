#include "core/printable.h"

#include <gtest/gtest.h>

#include <string>

namespace gf {
namespace {

TEST(PrintableTest, ControlsAndWhatIsNotUtf8AreReplaced) {
  EXPECT_EQ(Printable("a\x1b[1m\n\x7f\xc3\xa4"), "a?[1m??\xc3\xa4");
  EXPECT_EQ(Printable(std::string("a\0b", 3)), "a?b");
  EXPECT_EQ(Printable("\xff\xfe\x80"), "???");
  EXPECT_EQ(Printable("\xe2\x82\xac \xf0\x9f\x98\x80"), "\xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m"),
            "?31m");                                 // the one-character escape
  EXPECT_EQ(Printable("\xc0\xaf"), "??");            // overlong
  EXPECT_EQ(Printable("\xed\xa0\x80"), "???");       // a surrogate
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "????");  // beyond Unicode
  EXPECT_EQ(Printable("\xe2\x82"), "??");            // cut off
  EXPECT_EQ(PrintableLines("a\n\tb\r\x1b"), "a\n\tb??");
}

TEST(PrintableTest, AnExcerptIsShortAndSaysHowMuchThereWas) {
  EXPECT_EQ(Excerpt("short\n"), "short?");
  EXPECT_EQ(Excerpt(std::string(200, 'x')), std::string(200, 'x'));
  EXPECT_EQ(Excerpt(std::string(100000, 'x')), std::string(200, 'x') + "... (100000 characters)");
  // Not within a character.
  EXPECT_EQ(Excerpt("\xe2\x82\xac\xe2\x82\xac", 5), "\xe2\x82\xac... (6 characters)");
  EXPECT_EQ(Excerpt(std::string(300, '\x80'), 8).substr(0, 4), "????");
}

}  // namespace
}  // namespace gf
