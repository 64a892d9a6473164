// Labels of a file, for the images of any format.
#include "data/formats/class_match.h"
#include "data/formats/record_source.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

using Numbers = std::vector<float>;

class LabelFileTest : public testing::Test {
 protected:
  LabelFileTest() {
    for (const char* name : {"a.png", "b.JPG", "deep/c d.png", ".hidden/x.png", "deep/.y.png"}) {
      WriteFile(folder_ / StrCat("images/", name), FlatPng({2, 2}, 1));
    }
  }

  SourceOptions Options(const std::string& text, LabelConfig::Type type, bool skip = false) {
    WriteFile(folder_ / "labels.csv", text);
    SourceOptions options;
    options.path = folder_ / "images";
    options.skip_damaged = skip;
    options.labels.set_type(type);
    options.labels.set_file(folder_ / "labels.csv");
    return options;
  }

  // "key labels" of each image.
  static std::string All(const RecordSource& source) {
    std::string text;
    Numbers labels;
    Record record;
    for (int64_t i = 0; i < source.size(); ++i) {
      source.Read(i, &record);
      EXPECT_EQ(record.label, source.Label(i));
      source.Labels(i, &labels);
      text += source.Key(i);
      for (const float label : labels) text += StrCat(" ", label);
      text += "\n";
    }
    return text;
  }

  std::string Open(const std::string& text, LabelConfig::Type type, bool skip = false) {
    return All(*OpenSource("AUTO", Options(text, type, skip)));
  }
  std::string Error(const std::string& text, LabelConfig::Type type = LabelConfig::CLASSES,
                    bool skip = false) {
    return ErrorOf([&] { OpenSource("AUTO", Options(text, type, skip)); });
  }

  TempFolder folder_;
};

void ExpectIn(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(LabelFileTest, AFolderInAnyFormOfText) {
  const std::string expected = "a 1\nb\ndeep/c d 0 2\n";
  EXPECT_EQ(Open("a 1\nb\n\"deep/c d\" 2 0\n", LabelConfig::CLASSES), expected);
  EXPECT_EQ(Open("\xEF\xBB\xBFKey,tags\r\n\r\n# comment\r\n\"deep/c d.png\",0;2\r\nb.JPG\r\na\t1",
                 LabelConfig::CLASSES),
            expected);
  // As programs write it that quote only what holds a separator.
  EXPECT_EQ(Open("key,tags\na,1\nb\ndeep/c d,2,0\n", LabelConfig::CLASSES), expected);
  EXPECT_EQ(Open("a,1\nb\ndeep/c d.png ;2 0\n", LabelConfig::CLASSES), expected);
  const auto source =
      OpenSource("FOLDER", Options("a 1\nb\n\"deep/c d\" 2 0\n", LabelConfig::CLASSES));
  EXPECT_EQ(source->label_type(), LabelConfig::CLASSES);
  EXPECT_EQ(source->classes(), 3);
  EXPECT_EQ(source->Label(0), 0);
  EXPECT_EQ(source->Describe(),
            "FOLDER, 3 images; 3 images in " + (folder_ / "labels.csv") + ", 3 classes");
}

TEST_F(LabelFileTest, OneClassAndValues) {
  EXPECT_EQ(Open("b 2\na 0\n\"deep/c d\" 7\n", LabelConfig::CLASS), "a 0\nb 2\ndeep/c d 7\n");
  EXPECT_EQ(Open("b 2 0.5\na 0 -1\n\"deep/c d\" 7 1e3\n", LabelConfig::VALUES),
            "a 0 -1\nb 2 0.5\ndeep/c d 7 1000\n");
}

TEST_F(LabelFileTest, NamesOfClasses) {
  const std::string text = "a cat\nb dog cat\n\"deep/c d\" 1\n", got = "a 0\nb 0 1\ndeep/c d 1\n";
  ExpectIn("labels.csv:1: \"cat\" is not a class", Error(text));
  // The net's, if the data have none.
  SourceOptions options = Options(text, LabelConfig::CLASSES);
  options.net_classes = {"cat", "dog", "cow"};
  EXPECT_EQ(All(*OpenSource("FOLDER", options)), got);
  EXPECT_EQ(OpenSource("FOLDER", options)->classes(), 3);
  // Beside the file, then in the folder.
  WriteFile(folder_ / "classes.txt", "cat\ndog\n");
  EXPECT_EQ(Open(text, LabelConfig::CLASSES), got);
  WriteFile(folder_ / "images/classes.txt", "x\ndog\ncat\n");
  EXPECT_EQ(Open(text, LabelConfig::CLASSES), "a 2\nb 1 2\ndeep/c d 1\n");
  // Matched with the net's.
  const auto matched =
      MatchClasses(OpenSource("FOLDER", Options(text, LabelConfig::CLASSES)), {"dog", "cat"});
  EXPECT_EQ(All(*matched), "a 1\nb 0 1\ndeep/c d 0\n");
  EXPECT_EQ(matched->label_type(), LabelConfig::CLASSES);
}

TEST_F(LabelFileTest, ValuesHaveTheSameNames) {
  const std::string text = "a 1 2\nb 3 4\n\"deep/c d\" 5 6\n";
  WriteFile(folder_ / "classes.txt", "x\ny\n");
  const auto open = [&] { return OpenSource("FOLDER", Options(text, LabelConfig::VALUES)); };
  EXPECT_EQ(open()->ClassNames(), (std::vector<std::string>{"x", "y"}));
  ExpectIn("the values are called x, y, but the net is trained on y, x", ErrorOf([&] {
             MatchClasses(open(), {"y", "x"});
           }));
  WriteFile(folder_ / "classes.txt", "x\ny\nz\n");
  ExpectIn("2 values per image, but 3 names of values", ErrorOf([&] { open(); }));
}

TEST_F(LabelFileTest, MistakesAreNamedWithTheirLine) {
  const std::string rest = "b\n\"deep/c d\"\n";
  ExpectIn("labels.csv:3: a second line for the image \"b\", the first is line 2",
           Error("# x\nb 1\nb.jpg 2\n" + rest));
  ExpectIn("labels.csv:2: \"nobody\" is no image of ", Error("a 1\nnobody 2\n" + rest));
  ExpectIn("labels.csv:1: \"-3\" is not a class", Error("a -3\n" + rest));
  ExpectIn("labels.csv:1: \"inf\" is not a finite", Error("a inf\n", LabelConfig::VALUES));
  ExpectIn("labels.csv:1: a double quote without", Error("\"a 1\n"));
  ExpectIn("labels.csv:2: the file ends without a line for 1 image, the first is \"a\"",
           Error(rest));
  ExpectIn("labels.csv:1: a NUL byte", Error(std::string("a\0 1\n", 5)));
  ExpectIn("cannot open", ErrorOf([&] {
             SourceOptions options = Options("", LabelConfig::CLASS);
             options.labels.set_file(folder_ / "none.csv");
             OpenSource("FOLDER", options);
           }));
}

// A file that was cut off says so, wherever that was; only the last label may have become shorter.
TEST_F(LabelFileTest, TruncatedAnywhereIsAnError) {
  const std::string whole = "b 1 2\na 4\n\"deep/c d\" 12345\n";
  const size_t last = whole.find("12345");
  for (size_t bytes = 0; bytes <= last - 2; ++bytes) {
    ExpectIn("labels.csv", Error(whole.substr(0, bytes), LabelConfig::CLASSES));
  }
  EXPECT_EQ(Open(whole.substr(0, last + 5), LabelConfig::CLASSES), "a 4\nb 1 2\ndeep/c d 12345\n");
}

TEST_F(LabelFileTest, ImagesWithoutALineAreLeftOutWhenDamageIs) {
  const SourceOptions options =
      Options("deep/x 2\nb 3\nzz 1\n", LabelConfig::CLASSES, /*skip=*/true);
  const auto source = OpenSource("FOLDER", options);
  EXPECT_EQ(All(*source), "b 3\n");
  EXPECT_EQ(source->skipped(), 2);
  ExpectIn("the file ends without a line for 3 images", Error("x 1\n", LabelConfig::CLASSES, true));
  ExpectIn("labels.csv:1: \"x\" is not a class", Error("a x\n", LabelConfig::CLASSES, true));
}

TEST_F(LabelFileTest, EveryFormatTakesOne) {
  WriteShard(folder_ / "s.tar", 0, 3, 2);
  SourceOptions options = Options("s0 0.5\ns1 1.5\ns2.png 2.5\n", LabelConfig::VALUES);
  options.path = folder_ / "s.tar";
  EXPECT_EQ(All(*OpenSource("TAR", options)), "s0 0.5\ns1 1.5\ns2 2.5\n");
  options.labels.clear_file();
  ExpectIn("\"s0.cls\"", ErrorOf([&] {
             options.labels.set_count(2);
             OpenSource("TAR", options);
           }));
  options.path = folder_ / "images";
  ExpectIn("holds no folders", ErrorOf([&] {
             OpenSource("FOLDER", {folder_ / "images/deep", false});
           }));
  WriteFile(folder_ / "classes/x/1.png", FlatPng({2, 2}, 1));
  options.path = folder_ / "classes";
  ExpectIn("format FOLDER holds one class per image, and labels of type VALUES are expected",
           ErrorOf([&] { OpenSource("FOLDER", options); }));
}

TEST_F(LabelFileTest, TwoImagesOfOneKeyAreRefused) {
  WriteFile(folder_ / "images/a.jpg", "x");
  ExpectIn("the key \"a\" belongs to", Error("a 1\n"));
}

}  // namespace
}  // namespace gf
