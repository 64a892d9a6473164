#include "data/image/image_names.h"

#include <gtest/gtest.h>

#include "data/image/codec.h"

namespace gf {
namespace {

TEST(ImageNames, EndingsDecideWhichFilesOfADataSetAreImages) {
  for (const char* name : {"a.jpg", "b/a.JPEG", "a.b.png", "a.tif", "a.TIFF", "a.webp", "a.bmp",
                           "a.jp2", "a.j2k",    "a.exr",   "a.hdr", "a.pnm",  "a.pbm",  "a.pgm",
                           "a.ppm", "a.pam",    "a.pfm",   "a.ras", "a.jpe",  "a.jfif", "a.dib"}) {
    EXPECT_TRUE(IsImageName(name)) << name;
  }
  for (const char* name :
       {"", "jpg", "a.gif", "a.cls", "a.txt", "a.jpg.gz", "a.jpgx", "a.j", "a."}) {
    EXPECT_FALSE(IsImageName(name)) << name;
  }
  EXPECT_TRUE(IsImageEnding("Png"));
  EXPECT_FALSE(IsImageEnding(".png"));
  EXPECT_FALSE(IsImageEnding("seg.png"));
}

TEST(ImageNames, EveryFormatHasAnEndingThatReadersFind) {
  EXPECT_STREQ(EndingOf("JPEG"), ".jpg");
  EXPECT_STREQ(EndingOf("PNG"), ".png");
  EXPECT_STREQ(EndingOf("TIFF"), ".tif");
  EXPECT_STREQ(EndingOf("WebP"), ".webp");
  // Readers of data sets pass over .gif.
  EXPECT_STREQ(EndingOf("GIF"), ".jpg");
  for (const Codec& codec : OpenCvCodecs()) {
    EXPECT_TRUE(IsImageName(EndingOf(codec.name))) << codec.name;
    EXPECT_STRNE(EndingOf(codec.name), ".jpg") << codec.name;
  }
}

}  // namespace
}  // namespace gf
