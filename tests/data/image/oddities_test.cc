// The collection of odd and broken images, each as its manifest says.
#include <map>
#include <sstream>

#include "data/formats/record_source.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

// manifest.tsv: a line of names, then a line per image.
std::vector<std::map<std::string, std::string>> ReadManifest(const std::string& path) {
  const auto split = [](const std::string& line) {
    std::vector<std::string> fields(1);
    for (const char c : line) {
      if (c == '\t') {
        fields.emplace_back();
      } else {
        fields.back() += c;
      }
    }
    return fields;
  };
  std::istringstream lines(ReadFile(path));
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> names = split(line);
  std::vector<std::map<std::string, std::string>> rows;
  while (std::getline(lines, line)) {
    const std::vector<std::string> fields = split(line);
    rows.emplace_back();
    for (size_t i = 0; i < names.size() && i < fields.size(); ++i)
      rows.back()[names[i]] = fields[i];
  }
  return rows;
}

// "1.5,2,3" -> {1.5, 2, 3}
std::vector<double> Numbers(const std::string& text) {
  std::istringstream in(text);
  std::vector<double> numbers;
  for (std::string part; std::getline(in, part, ',');) numbers.push_back(std::stod(part));
  return numbers;
}

TEST(Oddities, EveryImageIsReadOrRefusedAsTheManifestSays) {
  GF_REAL_DATA_OR_SKIP(folder, "jpeg-oddities");
  const auto source = OpenSource("TAR", {folder + "/jpeg-oddities.tar", false});
  std::map<std::string, int64_t> places;
  for (int64_t i = 0; i < source->size(); ++i) places[source->Key(i)] = i;
  const auto manifest = ReadManifest(folder + "/manifest.tsv");
  EXPECT_EQ(manifest.size(), 87u);
  int read = 0, refused = 0;
  for (auto row : manifest) {
    SCOPED_TRACE(row["key"]);
    ASSERT_EQ(places.count(row["key"]), 1u);
    Record record;
    source->Read(places[row["key"]], &record);
    EXPECT_EQ(std::to_string(record.size), row["bytes"]);
    // On the heap in its exact size, so that sanitizers see a read beyond it.
    const std::vector<uint8_t> file(record.data, record.data + record.size);
    std::vector<uint8_t> pixels;
    ImageSize size;
    std::string error;
    try {
      size = DecodeImage(file.data(), file.size(), {PixelType::kUINT8, 3}, [&](ImageSize s) {
        pixels.resize(s.pixels() * 3);
        return pixels.data();
      });
    } catch (const SampleError& e) {
      error = e.what();
    }
    // PIL refuses a picture for its EXIF, which says nothing about its pixels.
    const bool good = row["pil_strict"] == "ok" || row["key"] == "pillow_truncated_exif_dpi";
    EXPECT_EQ(error.empty(), good) << error;
    (error.empty() ? read : refused) += 1;
    if (!error.empty() || row["pil_strict"] != "ok") continue;
    EXPECT_EQ(StrCat(size.width, "x", size.height), row["pil_size"]);
    const std::vector<double> expected = Numbers(row["mean_rgb"]);
    ASSERT_EQ(expected.size(), 3u);
    for (int c = 0; c < 3; ++c) {
      double sum = 0;
      for (size_t i = c; i < pixels.size(); i += 3) sum += pixels[i];
      EXPECT_NEAR(sum / size.pixels(), expected[c], 0.6) << "channel " << c;
    }
  }
  EXPECT_EQ(read, 82);
  EXPECT_EQ(refused, 5);
}

}  // namespace
}  // namespace gf
