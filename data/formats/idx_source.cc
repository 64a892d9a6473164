// MNIST's format: <name>-images-idx3-ubyte and <name>-labels-idx1-ubyte beside it, as they
// are or gzipped.

#include <algorithm>

#include "core/error.h"
#include "core/file.h"
#include "core/folder.h"
#include "core/readable.h"
#include "data/formats/gzip.h"
#include "data/formats/record_source.h"

namespace gf {
namespace {

constexpr uint32_t kImages = 0x00000803, kLabels = 0x00000801;  // unsigned bytes, 3 and 1 axes
constexpr int64_t kImagesHeader = 16, kLabelsHeader = 8;
constexpr int64_t kMaxBytes = int64_t{1} << 40;

// A number of the header, most significant byte first.
uint32_t Number(const std::vector<uint8_t>& bytes, size_t at) {
  return uint32_t{bytes[at]} << 24 | uint32_t{bytes[at + 1]} << 16 | uint32_t{bytes[at + 2]} << 8 |
         bytes[at + 3];
}

// Bytes that a file with this header should have; the header's size while it is incomplete,
// 0 if it is no header of ours.
int64_t ExpectedBytes(const std::vector<uint8_t>& bytes) {
  const auto have = static_cast<int64_t>(bytes.size());
  if (have < 4) return 4;
  if (Number(bytes, 0) == kLabels) {
    return have < kLabelsHeader ? kLabelsHeader : kLabelsHeader + Number(bytes, 4);
  }
  if (Number(bytes, 0) != kImages) return 0;
  if (have < kImagesHeader) return kImagesHeader;
  const int64_t count = Number(bytes, 4), height = Number(bytes, 8), width = Number(bytes, 12);
  if (height < 1 || width < 1 || height > kMaxSide || width > kMaxSide ||
      height * width > kMaxPixels || count > kMaxBytes / (height * width)) {
    return 0;
  }
  return kImagesHeader + count * height * width;
}

std::vector<uint8_t> ReadIdx(const std::string& path, uint32_t magic, const char* kind) {
  std::vector<uint8_t> bytes = ReadMaybeGzip(path, ExpectedBytes);
  if (bytes.size() < 4 || Number(bytes, 0) != magic) {
    ThrowUserError(path, ":0: no idx file of ", kind, ": starts with ",
                   bytes.size() < 4 ? 0 : Number(bytes, 0), ", expected ", magic);
  }
  const int64_t expected = ExpectedBytes(bytes);
  if (expected == 0) {
    ThrowUserError(path, ":4: absurd sizes in the header: ", Number(bytes, 4), " images of ",
                   Number(bytes, 8), "x", Number(bytes, 12));
  }
  if (static_cast<int64_t>(bytes.size()) != expected) {
    const bool longer = static_cast<int64_t>(bytes.size()) > expected;
    ThrowUserError(path, ":", std::min<int64_t>(bytes.size(), expected), ": ",
                   longer ? "more" : "fewer", " bytes than the header promises (", expected, ")",
                   longer ? "" : "; perhaps it was not copied completely");
  }
  return bytes;
}

// "t10k-images-idx3-ubyte.gz" -> "t10k-labels-idx1-ubyte.gz"; with or without .gz, whichever
// is there.
std::string LabelsPath(const std::string& images) {
  std::string path = images;
  const size_t base = path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1;
  const size_t word = path.rfind("images"), kind = path.rfind("idx3");
  if (word != std::string::npos && word >= base) path.replace(word, 6, "labels");
  if (kind != std::string::npos && kind >= base) path.replace(kind, 4, "idx1");
  if (path == images) {
    ThrowUserError(images, ": its labels are looked for under the same name with \"labels\" for ",
                   "\"images\" and \"idx1\" for \"idx3\", and it holds neither word");
  }
  if (IsFile(path)) return path;
  const std::string other = HasEnding(path, ".gz") ? path.substr(0, path.size() - 3) : path + ".gz";
  if (IsFile(other)) return other;
  ThrowUserError(images, ": its labels are missing: expected ", path);
}

// Files in a folder that are called as images.
std::vector<std::string> ImageFiles(const std::string& path) {
  std::vector<std::string> files = ExpandFiles(path, "");
  if (!IsFolder(path)) return files;
  files.erase(std::remove_if(files.begin(), files.end(),
                             [](const std::string& file) {
                               return file.find("idx3", file.rfind('/')) == std::string::npos;
                             }),
              files.end());
  return files;
}

class IdxSource : public RecordSource {
 public:
  static bool Recognizes(const std::string& path) {
    if (IsFolder(path)) {
      try {
        return !ImageFiles(path).empty();
      } catch (const UserError&) {
        return false;
      }
    }
    const std::string file = ExpandFiles(path, "").front();
    if (file.find("idx") != std::string::npos && HasEnding(file, ".gz")) return true;
    uint8_t magic[4];
    return InputFile(file).ReadAt(0, magic, 4) == 4 && magic[0] == 0 && magic[1] == 0 &&
           magic[2] == 8;
  }

  explicit IdxSource(const SourceOptions& options) {
    const std::vector<std::string> files = ImageFiles(options.path);
    if (files.size() != 1) {
      std::string found;
      for (const std::string& file : files) found += "\n  " + file;
      ThrowUserError(options.path, ": ", files.size(),
                     " idx files of images, expected one:", found);
    }
    path_ = files[0];
    images_ = ReadIdx(path_, kImages, "images");
    size_ = Number(images_, 4);
    image_ = {static_cast<int>(Number(images_, 8)), static_cast<int>(Number(images_, 12))};
    const std::string labels_path = LabelsPath(path_);
    labels_ = ReadIdx(labels_path, kLabels, "labels");
    if (Number(labels_, 4) != size_) {
      ThrowUserError(labels_path, ":4: ", Number(labels_, 4), " labels, expected ", size_,
                     " as there are images in ", path_);
    }
    if (size_ > 0) {
      classes_ = 1 + *std::max_element(labels_.begin() + kLabelsHeader, labels_.end());
    }
    names_ = ReadClassNames(path_, &classes_);
  }

  int64_t size() const override { return size_; }
  int64_t Label(int64_t i) const override { return labels_[kLabelsHeader + i]; }
  std::string Key(int64_t i) const override {
    std::string digits = std::to_string(i);
    return std::string(digits.size() < 8 ? 8 - digits.size() : 0, '0') + digits;
  }
  std::string Where(int64_t i) const override { return StrCat(path_, ":", i, ":", Offset(i)); }
  int64_t classes() const override { return classes_; }
  std::vector<std::string> ClassNames() const override { return names_; }
  std::string Describe() const override {
    return StrCat("IDX, ", Counted(size_, "image"), " of ", image_.height, "x", image_.width, ", ",
                  Counted(classes_, "class", "classes"));
  }

  void Read(int64_t i, Record* record) const override {
    record->data = images_.data() + Offset(i);
    record->size = image_.pixels();
    record->raw = true;
    record->raw_size = image_;
    record->raw_format = {PixelType::kUINT8, 1};
    record->label = Label(i);
  }

 private:
  int64_t Offset(int64_t i) const { return kImagesHeader + i * image_.pixels(); }

  std::string path_;
  std::vector<uint8_t> images_, labels_;  // the files, headers included
  int64_t size_ = 0, classes_ = 0;
  ImageSize image_;
  std::vector<std::string> names_;
};

GF_REGISTER(SourceFormatRegistry, "IDX", SourceFormatOf<IdxSource>);

}  // namespace
}  // namespace gf
