// One folder per class; classes are numbered in byte order of the folders' names.

#include <algorithm>

#include "core/error.h"
#include "core/file.h"
#include "core/folder.h"
#include "core/readable.h"
#include "data/formats/record_source.h"
#include "data/image/image_names.h"

namespace gf {
namespace {

// Names of the visible folders in a folder, in byte order.
std::vector<std::string> ListFolders(const std::string& path) {
  std::vector<std::string> names;
  for (const std::string& name : ListFolder(path)) {
    if (name[0] != '.' && IsFolder(path + "/" + name)) names.push_back(name);
  }
  return names;
}

class FolderSource : public RecordSource {
 public:
  static bool Recognizes(const std::string& path) {
    return IsFolder(path) && !ListFolders(path).empty();
  }

  explicit FolderSource(const SourceOptions& options) : path_(options.path) {
    if (!IsFolder(path_)) ThrowUserError(path_, ": no such folder");
    names_ = ListFolders(path_);
    if (names_.empty()) {
      ThrowUserError(path_, ": holds no folders, expected one folder of images per class");
    }
    for (size_t label = 0; label < names_.size(); ++label) AddClass(label);
    text_offsets_.push_back(text_.size());
    if (labels_.empty()) {
      ThrowUserError(path_, ": 0 images (", DescribeImageEndings(), ") in its ", names_.size(),
                     " class folders");
    }
  }

  int64_t size() const override { return static_cast<int64_t>(labels_.size()); }
  int64_t Label(int64_t i) const override { return labels_[i]; }
  std::string Key(int64_t i) const override {
    const std::string path = names_[labels_[i]] + "/" + Name(i);
    return path.substr(0, path.rfind('.'));
  }
  std::string Where(int64_t i) const override { return Printable(Path(i)); }
  int64_t classes() const override { return static_cast<int64_t>(names_.size()); }
  std::vector<std::string> ClassNames() const override { return names_; }
  std::string Describe() const override {
    return StrCat("FOLDER, ", Counted(size(), "image"), ", ",
                  Counted(classes(), "class", "classes"));
  }

  void Read(int64_t i, Record* record) const override {
    try {
      const InputFile file(Path(i));
      if (file.size() > kMaxEncodedBytes) {
        throw SampleError(
            StrCat("the file has ", file.size(), " bytes, expected at most ", kMaxEncodedBytes));
      }
      record->data = record->buffer.Reserve(file.size());
      record->size = file.ReadAt(0, record->buffer.Reserve(file.size()), file.size());
    } catch (const SampleError&) {
      throw;
    } catch (const UserError& error) {
      throw SampleError(error.what());
    }
    record->raw = false;
    record->label = labels_[i];
  }

 private:
  // The file's path within its class folder.
  std::string Name(int64_t i) const {
    return text_.substr(text_offsets_[i], text_offsets_[i + 1] - text_offsets_[i]);
  }
  std::string Path(int64_t i) const { return path_ + "/" + names_[labels_[i]] + "/" + Name(i); }

  // Images in the folder and in folders below it.
  void AddClass(size_t label) {
    const std::string folder = path_ + "/" + names_[label];
    const size_t before = labels_.size();
    for (const std::string& file : ListFilesBelow(folder)) {
      const bool hidden = file[file.rfind('/') + 1] == '.';  // npos + 1 = 0
      if (hidden || !IsImageName(file)) continue;
      labels_.push_back(static_cast<int32_t>(label));
      text_offsets_.push_back(text_.size());
      text_ += file;
    }
    if (labels_.size() == before) PrintWarning(folder, ": a class without images");
  }

  std::string path_;
  std::vector<std::string> names_;
  std::vector<int32_t> labels_;
  // All names in one text: a million strings would cost far more.
  std::string text_;
  std::vector<uint64_t> text_offsets_;
};

GF_REGISTER(SourceFormatRegistry, "FOLDER", SourceFormatOf<FolderSource>);

}  // namespace
}  // namespace gf
