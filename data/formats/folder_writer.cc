#include <algorithm>

#include "core/error.h"
#include "core/folder.h"
#include "core/output_file.h"
#include "data/formats/record_writer.h"

namespace gf {
namespace {

// Folder names whose byte order is the order of the labels: the class names where they are
// sorted and usable, otherwise with the number before them.
std::vector<std::string> FolderNames(const WriterOptions& options) {
  const std::vector<std::string>& names = options.class_names;
  const bool usable = static_cast<int64_t>(names.size()) == options.classes &&
                      std::is_sorted(names.begin(), names.end(), std::less_equal<std::string>()) &&
                      std::all_of(names.begin(), names.end(), [](const std::string& name) {
                        return !name.empty() && name[0] != '.' && name.size() < 200 &&
                               name.find('/') == std::string::npos;
                      });
  if (usable) return names;
  const size_t width = std::to_string(std::max<int64_t>(options.classes - 1, 0)).size();
  std::vector<std::string> folders;
  for (int64_t label = 0; label < options.classes; ++label) {
    std::string number = std::to_string(label);
    number.insert(0, width - number.size(), '0');
    if (label < static_cast<int64_t>(names.size())) {
      std::string name = names[label].substr(0, 100);
      std::replace(name.begin(), name.end(), '/', '_');
      number += "_" + name;
    }
    folders.push_back(number);
  }
  return folders;
}

class FolderRecordWriter : public RecordWriter {
 public:
  explicit FolderRecordWriter(const WriterOptions& options)
      : options_(options), folders_(FolderNames(options)) {
    // Classes without images too: they keep the others' numbers.
    for (const std::string& folder : folders_) MakeFolders(options.folder + "/" + folder);
  }

  void Add(const Record& record, const std::string& key) override {
    const EncodedImage image = EncodeRecord(record, options_.quality);
    OutputFile file(options_.folder + "/" + folders_.at(record.label) + "/" + names_.Make(key) +
                    image.ending);
    file.Write(image.data, image.size);
    file.Close();
  }

  void Finish() override {}

 private:
  const WriterOptions options_;
  const std::vector<std::string> folders_;
  FileNames names_;
};

GF_REGISTER(WriterRegistry, "FOLDER", FolderRecordWriter);

}  // namespace
}  // namespace gf
