// Classes of two data sets are the same if they have the same name.
#include "data/formats/class_match.h"

#include "tests/data/test_util.h"

namespace gf {
namespace {

using Names = std::vector<std::string>;

// A source of one folder per class, with one image each.
std::unique_ptr<RecordSource> Folders(const TempFolder& temp, const Names& names) {
  for (const std::string& name : names) {
    WriteFile(temp / StrCat("data/", name, "/a.png"), FlatPng({2, 2}, 1));
  }
  return OpenSource("FOLDER", {temp / "data", false});
}

Names LabelsAndKeys(const RecordSource& source) {
  Names result;
  Record record;
  for (int64_t i = 0; i < source.size(); ++i) {
    source.Read(i, &record);
    EXPECT_EQ(record.label, source.Label(i));
    result.push_back(StrCat(source.Label(i), " ", source.Key(i)));
  }
  return result;
}

TEST(ClassMatch, LabelsAreNumbersOfTheNamesOfTraining) {
  TempFolder folder;
  const Names names = {"ant", "bee", "cat", "dog"};
  const auto source = MatchClasses(Folders(folder, {"bee", "dog"}), names);
  EXPECT_EQ(LabelsAndKeys(*source), (Names{"1 bee/a", "3 dog/a"}));
  EXPECT_EQ(source->classes(), 4);
  EXPECT_EQ(source->ClassNames(), names);
  EXPECT_EQ(source->Describe(), "FOLDER, 2 images, 2 classes");
  EXPECT_NE(source->Where(1).find("data/dog/a.png"), std::string::npos);
}

TEST(ClassMatch, TheOrderOfTheNamesMayDiffer) {
  TempFolder folder;
  const auto source = MatchClasses(Folders(folder, {"ant", "bee", "cat"}), {"cat", "ant", "bee"});
  EXPECT_EQ(LabelsAndKeys(*source), (Names{"1 ant/a", "2 bee/a", "0 cat/a"}));
}

TEST(ClassMatch, WithoutNamesOnOneSideNumbersStayAsTheyAre) {
  TempFolder folder;
  EXPECT_EQ(LabelsAndKeys(*MatchClasses(Folders(folder, {"ant", "bee"}), {})),
            (Names{"0 ant/a", "1 bee/a"}));
  WriteShard(folder / "a.tar", 0, 2, 2);
  EXPECT_EQ(LabelsAndKeys(*MatchClasses(OpenSource("TAR", {folder / "a.tar", false}), {"x"})),
            (Names{"0 s0", "1 s1"}));
}

TEST(ClassMatch, NumbersThatConvertPutsBeforeNamesDoNotMatter) {
  {
    TempFolder folder;
    EXPECT_EQ(
        LabelsAndKeys(*MatchClasses(Folders(folder, {"1_dog", "2_cat"}), {"ant", "cat", "dog"})),
        (Names{"2 1_dog/a", "1 2_cat/a"}));
  }
  TempFolder folder;
  EXPECT_EQ(
      LabelsAndKeys(*MatchClasses(Folders(folder, {"cat", "dog"}), {"0_ant", "1_dog", "2_cat"})),
      (Names{"2 cat/a", "1 dog/a"}));
  // Full names come first.
  TempFolder both;
  EXPECT_EQ(LabelsAndKeys(*MatchClasses(Folders(both, {"1_a", "a"}), {"a", "1_a"})),
            (Names{"1 1_a/a", "0 a/a"}));
}

TEST(ClassMatch, ClassesThatDifferByTheirNumbersAreNotMerged) {
  TempFolder folder;
  const std::string message = ErrorOf([&] {
    MatchClasses(Folders(folder, {"1_dog", "3_dog", "cat"}), {"cat", "dog"});
  });
  EXPECT_NE(message.find("\"1_dog\" and \"3_dog\" would both become \"dog\""), std::string::npos)
      << message;
  TempFolder exact;
  const std::string other = ErrorOf([&] {
    MatchClasses(Folders(exact, {"1_dog", "dog"}), {"cat", "dog"});
  });
  EXPECT_NE(other.find("\"1_dog\" and \"dog\" would both become \"dog\""), std::string::npos)
      << other;
}

TEST(ClassMatch, ClassesThatTrainingLacksAreListedWithAnImage) {
  TempFolder folder;
  const std::string message = ErrorOf([&] {
    MatchClasses(Folders(folder, {"ant", "bee", "eel", "fox"}), {"ant", "bee", "cat"});
  });
  for (const char* words : {"2 classes not among the 3 that the net is trained on: \"eel\" (",
                            "data/eel/a.png)", "\"fox\" (", "classes.txt"}) {
    EXPECT_NE(message.find(words), std::string::npos) << message;
  }
  EXPECT_EQ(message.find("bee"), std::string::npos) << message;
}

TEST(ClassMatch, ANameWithoutImagesHarmsNobody) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 2, 2);
  WriteFile(folder / "classes.txt", "ant\nbee\neel\n");
  const auto source = MatchClasses(OpenSource("TAR", {folder / "a.tar", false}), {"bee", "ant"});
  EXPECT_EQ(LabelsAndKeys(*source), (Names{"1 s0", "0 s1"}));
}

TEST(ClassMatch, FewerNamesThanLabelsAreRefused) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 3, 3);
  WriteFile(folder / "classes.txt", "ant\n\nbee\n");
  const std::string message = ErrorOf([&] { OpenSource("TAR", {folder / "a.tar", false}); });
  EXPECT_NE(message.find("classes.txt: 2 class names, but the labels of the images go up to 2"),
            std::string::npos)
      << message;
  EXPECT_NE(message.find("expected 3 names"), std::string::npos) << message;
}

// ImageNet has two classes "crane".
TEST(ClassMatch, TwoClassesOfOneNameAreToldApartByTheirNumbersOrRefused) {
  TempFolder folder;
  WriteShard(folder / "a.tar", 0, 3, 3);
  WriteFile(folder / "classes.txt", "crane\nant\ncrane\n");
  const auto open = [&] { return OpenSource("TAR", {folder / "a.tar", false}); };
  EXPECT_EQ(LabelsAndKeys(*MatchClasses(open(), {"crane", "ant", "crane", "bee"})),
            (Names{"0 s0", "1 s1", "2 s2"}));
  const std::string message = ErrorOf([&] {
    MatchClasses(open(), {"ant", "crane", "bee", "crane"});
  });
  EXPECT_NE(message.find("\"crane\" (the name of two classes; "), std::string::npos) << message;
}

}  // namespace
}  // namespace gf
