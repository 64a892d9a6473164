// One folder per class, where classes are numbered in byte order of the folders' names; or, with a
// file of labels, images in any folders.

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

  explicit FolderSource(const SourceOptions& options)
      : path_(options.path), flat_(!options.labels.file().empty()) {
    if (!IsFolder(path_)) ThrowUserError(path_, ": no such folder");
    if (flat_) {
      names_ = ReadClassNames(path_ + "/classes.txt", &classes_);
      AddImages(0);
    } else {
      names_ = ListFolders(path_);
      classes_ = static_cast<int64_t>(names_.size());
      if (names_.empty()) {
        ThrowUserError(path_,
                       ": holds no folders, expected one folder of images per class, or a file "
                       "with the labels of each image (labels.file)");
      }
      for (size_t label = 0; label < names_.size(); ++label) {
        if (AddImages(label) == 0)
          PrintWarning(path_, "/", names_[label], ": a class without images");
      }
    }
    text_offsets_.push_back(text_.size());
    if (labels_.empty()) {
      ThrowUserError(path_, ": 0 images (", DescribeImageEndings(), ") in its ",
                     flat_ ? std::string("folders") : StrCat(names_.size(), " class folders"));
    }
  }

  int64_t size() const override { return static_cast<int64_t>(labels_.size()); }
  int64_t Label(int64_t i) const override { return labels_[i]; }
  std::string Key(int64_t i) const override {
    const std::string path = Folder(labels_[i]) + Name(i);
    return path.substr(0, path.rfind('.'));
  }
  std::string Where(int64_t i) const override { return Printable(Path(i)); }
  int64_t classes() const override { return classes_; }
  std::vector<std::string> ClassNames() const override { return names_; }
  std::string Describe() const override {
    return StrCat("FOLDER, ", Counted(size(), "image"),
                  flat_ ? std::string() : StrCat(", ", Counted(classes(), "class", "classes")));
  }

  void Read(int64_t i, Record* record) const override {
    ReadImageFile(Path(i), record);
    record->label = labels_[i];
  }

 private:
  // The folder of a class as the start of a path; "" without class folders.
  std::string Folder(size_t label) const { return flat_ ? "" : names_[label] + "/"; }
  // The file's path within its class folder.
  std::string Name(int64_t i) const {
    return text_.substr(text_offsets_[i], text_offsets_[i + 1] - text_offsets_[i]);
  }
  std::string Path(int64_t i) const { return path_ + "/" + Folder(labels_[i]) + Name(i); }

  // Adds the images in a class folder and in folders below it; returns how many.
  size_t AddImages(size_t label) {
    const size_t before = labels_.size();
    for (const std::string& file : ListFilesBelow(path_ + "/" + Folder(label))) {
      const bool hidden = file[file.rfind('/') + 1] == '.' ||  // npos + 1 = 0
                          (flat_ && (file[0] == '.' || file.find("/.") != std::string::npos));
      if (hidden || !IsImageName(file)) continue;
      labels_.push_back(static_cast<int32_t>(label));
      text_offsets_.push_back(text_.size());
      text_ += file;
    }
    return labels_.size() - before;
  }

  const std::string path_;
  const bool flat_;  // without class folders: labels come from elsewhere
  std::vector<std::string> names_;
  int64_t classes_ = 0;
  std::vector<int32_t> labels_;
  // All names in one text: a million strings would cost far more.
  std::string text_;
  std::vector<uint64_t> text_offsets_;
};

GF_REGISTER(SourceFormatRegistry, "FOLDER", SourceFormatOf<FolderSource>);

}  // namespace
}  // namespace gf
