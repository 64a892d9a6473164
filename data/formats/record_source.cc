#include "data/formats/record_source.h"

#include <new>
#include <sstream>

#include "core/file.h"
#include "core/folder.h"
#include "core/readable.h"

namespace gf {

ImageInfo RecordInfo(const Record& record) {
  if (!record.raw) return ProbeImage(record.data, record.size);
  return {"", record.raw_size, record.raw_format.channels, record.raw_format.type, "", false};
}

std::string DetectFormat(const std::string& path) {
  if (!IsFolder(path)) ExpandFiles(path, "");
  const SourceFormatRegistry& formats = SourceFormatRegistry::Get();
  for (const std::string& name : formats.Keys()) {
    if (formats.Create("data format", name)->Recognizes(path)) return name;
  }
  ThrowUserError(path, " holds no data set in a known format (", formats.Names(),
                 "): expected .tar shards, a folder with one folder of images per class, an "
                 "idx3 file of images, or a Caffe LMDB (data.mdb)");
}

std::unique_ptr<RecordSource> OpenSource(const std::string& format, const SourceOptions& options) {
  if (options.path.empty()) {
    ThrowUserError("source: no data set is given; expected a folder, a file or a glob");
  }
  const std::string name = format == "AUTO" ? DetectFormat(options.path) : format;
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
  return source;
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
