#include "predict/image_list.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/data/test_util.h"

namespace gf {
namespace {

std::vector<std::string> All(ImageList* list) {
  std::vector<std::string> files;
  for (std::string file; list->Next(&file);) files.push_back(file);
  return files;
}

TEST(ImageListTest, ReadsWordsFoldersAndLinesInOrder) {
  const TempFolder folder;
  for (const char* name :
       {"b.PNG", "a/c.jpeg", "a/d.gif", "notes.txt", ".hidden.png", ".cache/e.png"}) {
    WriteFile(folder / name, "x");
  }
  std::istringstream input("one.jpg\n\ntwo three.jpg\r\nfour.jpg");
  const std::string path = folder.path();
  ImageList list({"first", "-", path, path + "/", "last.jpg"}, &input);
  const std::vector<std::string> expected = {"first",         "one.jpg",          "two three.jpg",
                                             "four.jpg",      path + "/a/c.jpeg", path + "/a/d.gif",
                                             path + "/b.PNG", path + "/a/c.jpeg", path + "/a/d.gif",
                                             path + "/b.PNG", "last.jpg"};
  EXPECT_EQ(All(&list), expected);
}

TEST(ImageListTest, AFolderWithoutImagesIsAnError) {
  const TempFolder folder;
  WriteFile(folder / "notes.txt", "x");
  std::istringstream input;
  ImageList list({folder.path()}, &input);
  std::string file;
  EXPECT_NE(ErrorOf([&] { list.Next(&file); }).find("0 images"), std::string::npos);
}

}  // namespace
}  // namespace gf
