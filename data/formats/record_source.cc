#include "data/formats/record_source.h"

#include <new>
#include <sstream>
#include <utility>

#include "core/file.h"
#include "core/folder.h"
#include "core/readable.h"
#include "data/formats/label_file.h"

namespace gf {

ImageInfo RecordInfo(const Record& record) {
  if (!record.raw) return ProbeImage(record.data, record.size);
  return {"", record.raw_size, record.raw_format.channels, record.raw_format.type, "", false};
}

namespace {

// "" = none.
std::string RecognizedFormat(const std::string& path) {
  if (!IsFolder(path)) ExpandFiles(path, "");
  const SourceFormatRegistry& formats = SourceFormatRegistry::Get();
  for (const std::string& name : formats.Keys()) {
    if (formats.Create("data format", name)->Recognizes(path)) return name;
  }
  return "";
}

// The source has the labels that the options ask for.
void CheckLabels(const RecordSource& source, const std::string& format,
                 const SourceOptions& options) {
  const LabelConfig& wanted = options.labels;
  if (source.label_type() != wanted.type()) {
    ThrowUserError(options.path, ": format ", format, " holds one class per image, and labels of ",
                   "type ", LabelConfig::Type_Name(wanted.type()),
                   " are expected: name a file with the labels of each image (labels.file)");
  }
  if (wanted.type() == LabelConfig::CLASS) return;
  const bool values = wanted.type() == LabelConfig::VALUES;
  int64_t expected = wanted.count();
  if (values) {
    std::vector<float> first;
    source.Labels(0, &first);
    expected = static_cast<int64_t>(first.size());
  }
  if (expected == 0 || source.classes() == expected) return;
  ThrowUserError(options.path, ": ", source.classes(), " names in classes.txt, expected ", expected,
                 values ? ", the values per image" : ", labels.count",
                 ": write one name per line for each of them, or remove the file");
}

}  // namespace

std::string DetectFormat(const std::string& path) {
  std::string name = RecognizedFormat(path);
  if (!name.empty()) return name;
  for (const char* ending : {".txt", ".csv", ".tsv", ".list"}) {
    if (!HasEnding(path, ending)) continue;
    ThrowUserError(
        path, ": if this is a list of image files, its first line is not \"path label\" with an ",
        "image that exists: paths start at root_folder, or at the list's folder; put # before a ",
        "header; --from_format=list (format: LIST) tells more");
  }
  ThrowUserError(path, " holds no data set in a known format (",
                 SourceFormatRegistry::Get().Names(),
                 "): expected .tar shards, a folder with one folder of images per class, a list of "
                 "image files, an idx3 file of images, or a Caffe LMDB (data.mdb)");
}

SourceOptions SourceOptionsOf(const DataConfig& config) {
  SourceOptions options;
  options.path = config.source();
  options.skip_damaged = config.on_error() != DataConfig::FAIL;
  options.labels = config.labels();
  options.root_folder = config.root_folder();
  return options;
}

std::string FormatOf(const std::string& format, const SourceOptions& options) {
  if (format != "AUTO") return format;
  if (!options.root_folder.empty() && IsFile(options.path)) return "LIST";
  const bool has_labels = !options.labels.file().empty() && IsFolder(options.path);
  std::string name = has_labels ? RecognizedFormat(options.path) : DetectFormat(options.path);
  return name.empty() ? "FOLDER" : name;
}

std::unique_ptr<RecordSource> OpenSource(const std::string& format, const SourceOptions& options) {
  if (options.path.empty()) {
    ThrowUserError("source: no data set is given; expected a folder, a file or a glob");
  }
  const std::string name = FormatOf(format, options);
  if (!options.root_folder.empty() && name != "LIST") {
    ThrowUserError("root_folder goes with a list of image files, but ", options.path,
                   " has the format ", name, ": remove root_folder, or name a list");
  }
  std::unique_ptr<RecordSource> source;
  try {
    source = SourceFormatRegistry::Get().Create("data format", name)->Open(options);
  } catch (const std::bad_alloc&) {
    ThrowUserError(options.path, ": not enough memory to open this data set (format ", name,
                   "); run fewer ranks on this host, or check that the file is not damaged");
  }
  if (source->size() == 0) {
    ThrowUserError(options.path, ": 0 images (format ", name, ", ",
                   Counted(source->skipped(), "sample"),
                   " left out as damaged); expected at least 1");
  }
  if (!options.labels.file().empty()) source = AttachLabels(std::move(source), options);
  CheckLabels(*source, name, options);
  return source;
}

void ReadImageFile(const std::string& path, Record* record) {
  try {
    const InputFile file(path);
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
}

std::vector<std::string> ReadClassNames(const std::string& file, int64_t* classes) {
  const std::string path = ParentFolder(file) + "/classes.txt";
  std::vector<std::string> names;
  if (!IsFile(path)) return names;
  std::istringstream lines(ReadSmallFile(path, 16 << 20));
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) names.push_back(Printable(line));
  }
  const auto count = static_cast<int64_t>(names.size());
  if (count < *classes) {
    ThrowUserError(path, ": ", Counted(count, "class name"),
                   ", but the labels of the images go up to ", *classes - 1, ", expected ",
                   *classes,
                   " names, one per line: complete the file or remove it, or correct the label "
                   "(gfdata info counts them)");
  }
  *classes = count;
  return names;
}

}  // namespace gf
