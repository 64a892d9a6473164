// Labels in texts, and the lines of text files.
#include "data/formats/image_labels.h"

#include "data/formats/text_lines.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

using Words = std::vector<std::string>;
using Numbers = std::vector<float>;

LabelConfig Config(LabelConfig::Type type, int count = 0) {
  LabelConfig config;
  config.set_type(type);
  config.set_count(count);
  return config;
}

std::string ParseError(const LabelConfig& config, const Words& words, const Words& names = {}) {
  return ErrorOf([&] { LabelParser(config, names).Parse(words); });
}

void ExpectIn(const std::string& part, const std::string& text) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(LabelWords, AnyRunOfSeparatorsAndQuotes) {
  EXPECT_EQ(LabelWords("a,b;c\td  e"), (Words{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(LabelWords("  1 , 2\r\n"), (Words{"1", "2"}));
  EXPECT_EQ(LabelWords("\"a b\",\"say \"\"hi\"\"\" x"), (Words{"a b", "say \"hi\"", "x"}));
  EXPECT_EQ(LabelWords(" ,"), Words());
  ExpectIn("a double quote without", ErrorOf([] { LabelWords("\"a b"); }));
}

TEST(LabelParser, OneClass) {
  LabelParser parser(Config(LabelConfig::CLASS), {});
  EXPECT_EQ(parser.Parse({"7"}), Numbers{7});
  EXPECT_EQ(parser.Parse({"+2"}), Numbers{2});
  EXPECT_EQ(parser.classes(), 8);
  ExpectIn("0 labels, expected 1", ParseError(Config(LabelConfig::CLASS), {}));
  ExpectIn(
      "2 labels, expected 1, the image's class: for several labels, set labels { type: CLASSES",
      ParseError(Config(LabelConfig::CLASS), {"1", "2"}));
}

TEST(LabelParser, ClassesAreSortedAndOccurOnce) {
  LabelParser parser(Config(LabelConfig::CLASSES), {});
  EXPECT_EQ(parser.Parse({"5", "0", "5", "2"}), (Numbers{0, 2, 5}));
  EXPECT_EQ(parser.Parse({}), Numbers());
  EXPECT_EQ(parser.classes(), 6);
  ExpectIn("\"x\" is not a class", ErrorOf([&] { parser.Parse({"90", "x"}); }));
  EXPECT_EQ(parser.classes(), 6);  // the classes of refused images do not count
  EXPECT_EQ(LabelParser(Config(LabelConfig::CLASSES, 9), {}).classes(), 9);
}

TEST(LabelParser, NamesStandForClasses) {
  const Words names = {"cat", "dog", "cow", "dog"};
  LabelParser parser(Config(LabelConfig::CLASSES), names);
  EXPECT_EQ(parser.Parse({"cow", "0"}), (Numbers{0, 2}));
  ExpectIn("\"bird\" is not a class, expected a class index 0, 1, ... or one of the 4 names",
           ParseError(Config(LabelConfig::CLASSES), {"bird"}, names));
  ExpectIn("\"dog\" is the name of two classes",
           ParseError(Config(LabelConfig::CLASSES), {"dog"}, names));
  ExpectIn("class 4, expected 0 to 3, the classes that have names",
           ParseError(Config(LabelConfig::CLASSES), {"4"}, names));
}

TEST(LabelParser, ClassesThatAreNone) {
  const LabelConfig config = Config(LabelConfig::CLASSES, 3);
  for (const char* word : {"-1", "1.5", "x", "0x1", "nan", "1e0", ""}) {
    ExpectIn("is not a class", ParseError(config, {word}));
  }
  ExpectIn("set labels { type: VALUES }", ParseError(config, {"1.5"}));
  ExpectIn("class 3, expected 0 to 2, the classes of labels.count", ParseError(config, {"3"}));
  ExpectIn("expected 0 to 1048575", ParseError(Config(LabelConfig::CLASSES), {"1048576"}));
  ExpectIn("expected 0 to 1048575",
           ParseError(Config(LabelConfig::CLASSES), {std::string(3000, '9')}));
}

TEST(LabelParser, Values) {
  LabelParser parser(Config(LabelConfig::VALUES), {"x", "y"});
  EXPECT_EQ(parser.Parse({"-1.5", "+2e-3"}), (Numbers{-1.5f, 2e-3f}));
  EXPECT_EQ(parser.classes(), 2);
  ExpectIn("1 value, expected 2, as the first image has", ErrorOf([&] { parser.Parse({"1"}); }));
  const LabelConfig two = Config(LabelConfig::VALUES, 2);
  ExpectIn("3 values, expected 2, labels.count", ParseError(two, {"1", "2", "3"}));
  ExpectIn("0 values", ParseError(Config(LabelConfig::VALUES), {}));
  for (const char* word : {"nan", "inf", "-infinity", "1e39", "1e999"}) {
    ExpectIn("is not a finite FP32 number", ParseError(two, {"0", word}));
  }
  for (const char* word : {"x", "1,5", "0x10", "1.5.2", "--1", ""}) {
    ExpectIn("is not a number", ParseError(two, {"0", word}));
  }
}

TEST(LabelText, ReadsBackAsTheSameNumbers) {
  const Numbers values = {0.1f, -1e-38f, 3.4e38f, 16777216, 1.0f / 3};
  LabelParser parser(Config(LabelConfig::VALUES), {});
  EXPECT_EQ(parser.Parse(LabelWords(LabelText(values))), values);
  EXPECT_EQ(LabelText({0, 5}), "0 5");
  EXPECT_EQ(LabelText({}), "");
}

TEST(LabelTable, HoldsAnyNumberPerImage) {
  LabelTable table;
  table.Add({});
  table.Add({3, 4});
  table.Add({5});
  EXPECT_EQ(table.images(), 3);
  std::vector<Numbers> all(3);
  for (int64_t i = 0; i < 3; ++i) table.Get(i, &all[i]);
  EXPECT_EQ(all, (std::vector<Numbers>{{}, {3, 4}, {5}}));
}

Words LinesOf(const std::string& text) {
  TempFolder folder;
  WriteFile(folder / "x.txt", text);
  const InputFile file(folder / "x.txt");
  TextLines lines(&file);
  Words all;
  for (std::string line; lines.Next(&line);) all.push_back(line);
  EXPECT_EQ(lines.number(), static_cast<int64_t>(all.size()));
  return all;
}

TEST(TextLines, EndsOfAllKinds) {
  EXPECT_EQ(LinesOf(""), Words());
  EXPECT_EQ(LinesOf("a\nb\n"), (Words{"a", "b"}));
  EXPECT_EQ(LinesOf("a\r\n\r\nb"), (Words{"a", "", "b"}));
  EXPECT_EQ(LinesOf("\xEF\xBB\xBFkey"), Words{"key"});
  EXPECT_EQ(LinesOf("\n"), Words{""});
}

TEST(TextLines, LinesAcrossPieces) {
  Words expected;
  std::string text;
  for (int i = 0; i < 40; ++i) {
    expected.push_back(std::string(77777 + i, static_cast<char>('a' + i % 26)));
    text += expected.back() + "\n";
  }
  EXPECT_EQ(LinesOf(text), expected);
  expected.push_back(std::string(3 << 20, 'x'));
  EXPECT_EQ(LinesOf(text + expected.back()), expected);
}

TEST(TextLines, NoText) {
  TempFolder folder;
  const auto error = [&](const std::string& text) {
    WriteFile(folder / "x.txt", text);
    return ErrorOf([&] {
      const InputFile file(folder / "x.txt");
      TextLines lines(&file);
      for (std::string line; lines.Next(&line);) {
      }
    });
  };
  ExpectIn("x.txt:2: a NUL byte", error(std::string("a\nb\0c\n", 6)));
  ExpectIn("x.txt:1: a line of more than", error(std::string(17 << 20, 'x')));
}

}  // namespace
}  // namespace gf
