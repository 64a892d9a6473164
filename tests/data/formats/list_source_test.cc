// Caffe's lists of image files.
#include "data/formats/record_source.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

class ListSourceTest : public testing::Test {
 protected:
  ListSourceTest() {
    for (const char* name : {"a.png", "b c.png", "img 5.jpg", "deep/d.png", "7"}) {
      WriteFile(folder_ / name, FlatPng({2, 2}, name[0]));
    }
  }

  SourceOptions Options(const std::string& text, LabelConfig::Type type, bool skip = false) {
    WriteFile(folder_ / "list.txt", text);
    SourceOptions options;
    options.path = folder_ / "list.txt";
    options.skip_damaged = skip;
    options.labels.set_type(type);
    return options;
  }

  // "key: labels" of each image.
  std::string Open(const std::string& text, LabelConfig::Type type = LabelConfig::CLASS,
                   bool skip = false) {
    const auto source = OpenSource("LIST", Options(text, type, skip));
    std::string all;
    std::vector<float> labels;
    Record record;
    for (int64_t i = 0; i < source->size(); ++i) {
      source->Read(i, &record);
      EXPECT_EQ(record.label, source->Label(i));
      EXPECT_EQ(std::string(record.data, record.data + record.size),
                FlatPng({2, 2}, source->Key(i)[0]));
      source->Labels(i, &labels);
      all += source->Key(i) + ":";
      for (const float label : labels) all += StrCat(" ", label);
      all += "\n";
    }
    return all;
  }
  std::string Error(const std::string& text, LabelConfig::Type type = LabelConfig::CLASS) {
    return ErrorOf([&] { OpenSource("LIST", Options(text, type)); });
  }

  TempFolder folder_;
};

void ExpectIn(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(ListSourceTest, PathsAndOneClassAsInCaffe) {
  EXPECT_EQ(Open("a.png 3\n# x\n\nb c.png 0\r\n./deep/d.png\t12"), "a: 3\nb c: 0\ndeep/d: 12\n");
  const auto whole = OpenSource("LIST", Options((folder_ / "a.png") + " 1", LabelConfig::CLASS));
  Record record;
  whole->Read(0, &record);
  EXPECT_EQ(whole->Key(0), folder_ / "a");
  EXPECT_EQ(Open("\"img 5.jpg\" 2\n\"7\" 1\n"), "img 5: 2\n7: 1\n");
  const auto source = OpenSource("LIST", Options("a.png 3\nb c.png 1\n", LabelConfig::CLASS));
  EXPECT_EQ(source->classes(), 4);
  EXPECT_EQ(source->Describe(), "LIST, 2 images, 4 classes");
  EXPECT_EQ(source->Where(1), (folder_ / "list.txt") + ":2:b c.png");
}

TEST_F(ListSourceTest, PathsStartAtTheRootFolder) {
  SourceOptions options = Options("d.png 1\n", LabelConfig::CLASS);
  ExpectIn("d.png", ErrorOf([&] {
             Record record;
             OpenSource("LIST", options)->Read(0, &record);
           }));
  options.root_folder = folder_ / "deep";
  const auto source = OpenSource("AUTO", options);
  Record record;
  source->Read(0, &record);
  EXPECT_EQ(std::string(record.data, record.data + record.size), FlatPng({2, 2}, 'd'));
  EXPECT_EQ(source->Key(0), "d");
  options.path = folder_.path();
  EXPECT_EQ(ErrorOf([&] { OpenSource("AUTO", options); }),
            StrCat("root_folder goes with a list of image files, but ", options.path,
                   " has the format FOLDER: remove root_folder, or name a list"));
  options.path = folder_ / "list.txt";
  options.root_folder = folder_ / "none";
  EXPECT_EQ(ErrorOf([&] { OpenSource("AUTO", options); }),
            StrCat("root_folder: ", options.root_folder,
                   " is not a folder, expected the folder where the paths of ", options.path,
                   " start: correct root_folder"));
}

TEST_F(ListSourceTest, ASlashMayStandForTheRootFolder) {
  const auto key = [&](const std::string& path, const std::string& root) {
    SourceOptions options = Options(path + " 1\n", LabelConfig::CLASS);
    options.root_folder = root;
    const auto source = OpenSource("LIST", options);
    const int64_t last = source->size() - 1;
    Record record;
    source->Read(last, &record);
    EXPECT_EQ(std::string(record.data, record.data + record.size), FlatPng({2, 2}, 'd'));
    return source->Key(last);
  };
  EXPECT_EQ(key("/d.png", folder_ / "deep"), "d");
  EXPECT_EQ(key("//deep/d.png", folder_.path()), "deep/d");
  EXPECT_EQ(key(folder_ / "deep/d.png", folder_.path()), folder_ / "deep/d");
  EXPECT_EQ(key("/ 0\n/none.png 0\n/d.png", folder_ / "deep"), "d") << "a file decides";
}

TEST_F(ListSourceTest, LinesMayBeRepeated) {
  WriteFile(folder_ / "a.jpg", FlatPng({2, 2}, 'a'));
  EXPECT_EQ(Open("a.png 1\nb c.png 0\na.png 1\n\na.jpg 3\n"), "a: 1\nb c: 0\na#3: 1\na#5: 3\n");
}

TEST_F(ListSourceTest, PathsEndBeforeTheNumbers) {
  EXPECT_EQ(Open("img 5.jpg 1 0\nb c.png\na.png 2,2", LabelConfig::CLASSES),
            "img 5: 0 1\nb c:\na: 2\n");
  EXPECT_EQ(Open("b c.png -0.5 1e2\nimg 5.jpg 0 1\n", LabelConfig::VALUES),
            "b c: -0.5 100\nimg 5: 0 1\n");
}

TEST_F(ListSourceTest, NamesOfClasses) {
  WriteFile(folder_ / "classes.txt", "x\ny\nz\n");
  const auto source = OpenSource("AUTO", Options("a.png 1\n", LabelConfig::CLASS));
  EXPECT_EQ(source->ClassNames(), (std::vector<std::string>{"x", "y", "z"}));
  EXPECT_EQ(source->classes(), 3);
  SourceOptions options = Options("a.png 1\n", LabelConfig::CLASSES);
  options.labels.set_count(2);
  ExpectIn("3 names in classes.txt, expected 2, labels.count",
           ErrorOf([&] { OpenSource("LIST", options); }));
}

TEST_F(ListSourceTest, MistakesAreNamedWithTheirLine) {
  ExpectIn("list.txt:2: several labels, expected \"path label\"", Error("a.png 1\na.png 1 2\n"));
  ExpectIn("list.txt:1: \"x\" is not a class", Error("a.png x\n"));
  ExpectIn("list.txt:1: \"-1\" is not a class", Error("a.png -1\n"));
  ExpectIn("list.txt:1: 0 labels", Error("a.png\n"));
  ExpectIn("list.txt:1: an empty path", Error("\"\" 1\n"));
  ExpectIn("list.txt:1: a double quote", Error("\"a.png 1\n"));
  ExpectIn("list.txt:2: 1 value, expected 2", Error("a.png 1 2\nb c.png 3\n", LabelConfig::VALUES));
  ExpectIn("is not a finite", Error("a.png inf\n", LabelConfig::VALUES));
  ExpectIn("0 images", Error("# nothing\n"));
  EXPECT_EQ(Open("a.png x\n./deep/d.png 1\n", LabelConfig::CLASS, /*skip=*/true), "deep/d: 1\n");
}

TEST_F(ListSourceTest, AMissingFileIsADamagedSample) {
  const auto source = OpenSource("LIST", Options("none.png 1\n", LabelConfig::CLASS));
  Record record;
  EXPECT_THROW(source->Read(0, &record), SampleError);
}

TEST_F(ListSourceTest, IsRecognizedByItsFirstImage) {
  for (const char* name : {"x.txt", "x.csv", "x.tsv", "x.LIST"}) {
    WriteFile(folder_ / name, "# list\nb c.png 0.5 1\n");
    EXPECT_EQ(DetectFormat(folder_ / name), "LIST") << name;
  }
  WriteFile(folder_ / "x.dat", "a.png 1\n");
  EXPECT_THROW(DetectFormat(folder_ / "x.dat"), UserError);
  for (const char* text : {"none.png 1\na.png 1\n", "", "\"a.png"}) {
    WriteFile(folder_ / "y.txt", text);
    EXPECT_THROW(DetectFormat(folder_ / "y.txt"), UserError) << text;
  }
}

TEST_F(ListSourceTest, LabelsOfAFileReplaceItsOwn) {
  WriteFile(folder_ / "labels.csv", "key,x,y\na,1,2\n\"b c.png\",3,4\n");
  SourceOptions options = Options("a.png 9\nb c.png\n", LabelConfig::VALUES);
  options.labels.set_file(folder_ / "labels.csv");
  const auto source = OpenSource("AUTO", options);
  std::vector<float> labels;
  source->Labels(1, &labels);
  EXPECT_EQ(labels, (std::vector<float>{3, 4}));
}

}  // namespace
}  // namespace gf
