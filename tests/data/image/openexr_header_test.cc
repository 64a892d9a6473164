// Lengths in the headers of OpenEXR files, which its library trusts.
#include "data/image/openexr_header.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/image/image.h"

namespace gf {
namespace {

std::string Number(uint32_t value) {
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>(value >> 8 * i));
  return bytes;
}

std::string Text(const std::string& text) { return text + '\0'; }

std::string Attribute(const std::string& name, const std::string& type, const std::string& value) {
  return Text(name) + Text(type) + Number(value.size()) + value;
}

std::string Window(uint32_t left, uint32_t top, uint32_t right, uint32_t bottom) {
  return Attribute("dataWindow", "box2i",
                   Number(left) + Number(top) + Number(right) + Number(bottom));
}

std::string File(const std::vector<std::string>& parts) {
  std::string file = Number(20000630) + Number(parts.size() > 1 ? 2 | 1 << 12 : 2);
  for (const std::string& part : parts) file += Text(part);
  return parts.size() > 1 ? Text(file) : file;
}

// The error; "" if there is none.
std::string Check(const std::string& file) {
  // In its exact size, so that sanitizers see a read beyond it.
  const std::vector<uint8_t> bytes(file.begin(), file.end());
  try {
    CheckOpenExrHeader(bytes.data(), bytes.size());
  } catch (const SampleError& error) {
    return error.what();
  }
  return "";
}

std::string CheckPart(const std::string& attribute) { return Check(File({attribute})); }

std::string Tiles(uint32_t width, uint32_t height) {
  return Attribute("tiles", "tiledesc", Number(width) + Number(height) + std::string(1, '\0'));
}

// `count` channels of 4 bytes.
std::string Channels(int count) {
  std::string value;
  for (int i = 0; i < count; ++i) {
    value += Text("c" + std::to_string(i)) + Number(2) + Number(0) + Number(1) + Number(1);
  }
  return Attribute("channels", "chlist", value + '\0');
}

std::string Preview(uint32_t width, uint32_t height, size_t bytes) {
  return Attribute("preview", "preview", Number(width) + Number(height) + std::string(bytes, 'x'));
}

TEST(OpenExrHeader, GoodHeadersPass) {
  EXPECT_EQ(CheckPart(Window(0, 0, 6, 4)), "");
  EXPECT_EQ(CheckPart(Window(-3u, -2u, 6, 4)), "");
  EXPECT_EQ(CheckPart(Tiles(64, 32)), "");
  EXPECT_EQ(CheckPart(Window(0, 0, 8191, 9) + Tiles(8192, 16)), "");
  EXPECT_EQ(CheckPart(Window(0, 0, 65534, 1500) + Channels(4)), "");
  EXPECT_EQ(CheckPart(Preview(2, 1, 8)), "");
  EXPECT_EQ(CheckPart(Attribute("names", "stringvector", Number(1) + "a" + Number(0))), "");
  EXPECT_EQ(CheckPart(Attribute("who", "string", "me")), "");
  EXPECT_EQ(CheckPart(Attribute("own", "of a program", "any")), "");
  EXPECT_EQ(Check(File({Window(0, 0, 6, 4), Window(0, 0, 1, 1)})), "");
}

TEST(OpenExrHeader, SizesThatNoImageHasAreRefused) {
  const std::string sides = "expected sides of 1 to 65535 and at most 100000000 pixels";
  for (const std::string& window :
       {Window(0, 0, 65535, 0), Window(0, 0, 0, 65535), Window(0, 0, 9999, 10000),
        Window(1, 0, 0, 0), Window(0x80000000, 0x80000000, 0x7fffffff, 0x7fffffff)}) {
    EXPECT_NE(CheckPart(window).find(sides), std::string::npos) << CheckPart(window);
    // In the second part, too.
    EXPECT_NE(Check(File({Window(0, 0, 1, 1), window})).find(sides), std::string::npos);
  }
  EXPECT_EQ(CheckPart(Tiles(0, 4)),
            "OpenEXR: the header's attribute \"tiles\" says 4x0 (height x width), expected sides "
            "of at least 1");
}

TEST(OpenExrHeader, LargeBuffersAreRefused) {
  EXPECT_EQ(CheckPart(Window(0, 0, 6, 4) + Tiles(64, 4097)),
            "OpenEXR: tiles of 4097x64 (height x width) pixels, expected sides of at most 4096 or "
            "the image's");
  EXPECT_EQ(CheckPart(Tiles(65535, 1)).find("OpenEXR: tiles of 1x65535"), 0u);
  EXPECT_EQ(CheckPart(Window(0, 0, 65534, 0) + Channels(250)),
            "OpenEXR: 1000 bytes per pixel, expected at most 32 for 65535 columns");
  EXPECT_EQ(CheckPart(Window(0, 0, 6, 4) + Tiles(4096, 4096) + Channels(9)),
            "OpenEXR: 36 bytes per pixel, expected at most 32 for 7 columns");
}

// OpenEXR would read the hidden window.
TEST(OpenExrHeader, AttributesOfAnotherSizeThanTheirTypeAreRefused) {
  const std::string hidden = Window(0, 0, 2'000'000'000, 0);
  EXPECT_EQ(CheckPart(Attribute("n", "int", Number(1) + hidden)),
            "OpenEXR: the header's attribute \"n\" has 41 bytes, expected 4 of type int");
  EXPECT_EQ(CheckPart(Attribute("n", "int", "123")),
            "OpenEXR: the header's attribute \"n\" has 3 bytes, expected 4 of type int");
  EXPECT_EQ(CheckPart(Attribute("c", "chlist", std::string(1, '\0') + hidden)),
            "OpenEXR: the header's attribute \"c\" has 37 bytes behind the last channel, expected "
            "none");
  EXPECT_EQ(
      CheckPart(Attribute("dataWindow", "box2i", Number(0))),
      "OpenEXR: the header's attribute \"dataWindow\" has 4 bytes, expected 16 of type box2i");
}

TEST(OpenExrHeader, LengthsBeyondTheirPlaceAreRefused) {
  EXPECT_EQ(CheckPart(Text("who") + Text("string") + Number(2'000'000'000)),
            "OpenEXR: the header's attribute \"who\" has 2000000000 bytes, but the file ends after "
            "1");
  for (const size_t bytes : {7, 9}) {
    EXPECT_EQ(
        CheckPart(Preview(2, 1, bytes)),
        StrCat("OpenEXR: the header's attribute \"preview\" says 1x2 (height x width) pixels, "
               "but has ",
               bytes, " bytes of them"));
  }
  EXPECT_EQ(CheckPart(Attribute("names", "stringvector", Number(0x7fffffff) + "a")),
            "OpenEXR: the header's attribute \"names\" has a text of 2147483647 bytes, but ends "
            "after 1");
  EXPECT_EQ(CheckPart(Attribute("ids", "idmanifest", Number(0x7fffffff))),
            "OpenEXR: the header's attribute \"ids\" unpacks to 2147483647 bytes, expected at most "
            "268435456");
}

TEST(OpenExrHeader, EveryTruncationIsAnError) {
  const std::string part = Window(0, 0, 6, 4) + Channels(3) + Tiles(64, 32) + Preview(2, 1, 8) +
                           Attribute("names", "stringvector", Number(1) + "a");
  for (const std::string& file : {File({part}), File({part, part})}) {
    EXPECT_EQ(Check(file), "");
    for (size_t bytes = 0; bytes < file.size(); ++bytes) {
      EXPECT_EQ(Check(file.substr(0, bytes)).find("OpenEXR: "), 0u) << bytes;
    }
  }
}

}  // namespace
}  // namespace gf
