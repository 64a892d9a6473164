#include "predict/image_list.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>

#include "tests/data/test_util.h"

namespace gf {
namespace {

std::vector<std::string> All(ImageList* list) {
  std::vector<std::string> files;
  std::string error;
  for (std::string file; list->Next(&file, &error);) {
    files.push_back(error.empty() ? file : file + ": " + error);
  }
  return files;
}

TEST(ImageListTest, ReadsWordsFoldersAndLinesInOrder) {
  const TempFolder folder;
  for (const char* name :
       {"b.PNG", "a/c.jpeg", "a/d.gif", "a/e.tif", "notes.txt", ".hidden.png", ".cache/e.png"}) {
    WriteFile(folder / name, "x");
  }
  std::istringstream input("one.jpg\n\ntwo three.jpg\r\nfour.jpg");
  const std::string path = folder.path();
  ImageList list({"first", "-", path, path + "/", "last.jpg"}, &input);
  const std::vector<std::string> expected = {
      "first",           "one.jpg",         "two three.jpg", "four.jpg",         path + "/a/c.jpeg",
      path + "/a/d.gif", path + "/a/e.tif", path + "/b.PNG", path + "/a/c.jpeg", path + "/a/d.gif",
      path + "/a/e.tif", path + "/b.PNG",   "last.jpg"};
  EXPECT_EQ(All(&list), expected);
}

TEST(ImageListTest, WordsThatNameNoImagesHaveErrors) {
  const TempFolder folder;
  WriteFile(folder / "notes.txt", "x");
  std::istringstream input(std::string("a\0b\nc", 5));
  ImageList list({"first", folder.path(), "-", "last"}, &input);
  const std::vector<std::string> all = All(&list);
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[0], "first");
  EXPECT_EQ(all[1].find(std::string(folder.path()) + ": "), 0U);
  EXPECT_NE(all[1].find("0 images"), std::string::npos);
  EXPECT_NE(all[2].find("NUL byte"), std::string::npos);
  EXPECT_EQ(all[3], "c");
  EXPECT_EQ(all[4], "last");
  // A link that leads nowhere is an image that cannot be read.
  std::filesystem::create_symlink("/nowhere/x.png", folder / "x.png");
  ImageList links({folder.path()}, &input);
  EXPECT_EQ(All(&links), std::vector<std::string>{folder / "x.png"});
  std::istringstream empty("\n\n");
  ImageList nothing({"-", "last"}, &empty);
  const std::vector<std::string> entries = All(&nothing);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_NE(entries[0].find("standard input names no files"), std::string::npos);
  EXPECT_EQ(entries[1], "last");
}

}  // namespace
}  // namespace gf
