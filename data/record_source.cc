#include "data/record_source.h"

#include <sstream>
#include <utility>

#include "data/file.h"

namespace gf {
namespace {

std::map<std::string, SourceProbe>& Probes() {
  static auto* probes = new std::map<std::string, SourceProbe>;
  return *probes;
}

}  // namespace

bool RegisterSource(const std::string& format, SourceRegistry::Factory factory, SourceProbe probe) {
  Probes()[format] = std::move(probe);
  return SourceRegistry::Get().Add(format, std::move(factory));
}

std::string DetectFormat(const std::string& path) {
  if (!IsFolder(path)) ExpandFiles(path, "");
  for (const auto& entry : Probes()) {
    if (entry.second(path)) return entry.first;
  }
  ThrowUserError(path, ": holds none of the formats that are read (", SourceRegistry::Get().Names(),
                 "): expected .tar shards, a folder with one folder of images per class, an "
                 "idx3 file of images, or a Caffe LMDB (data.mdb)");
}

std::unique_ptr<RecordSource> OpenSource(const std::string& format, const SourceOptions& options) {
  if (options.path.empty()) {
    ThrowUserError("source: no data set is given; expected a folder, a file or a glob");
  }
  const std::string name = format == "AUTO" ? DetectFormat(options.path) : format;
  auto source = SourceRegistry::Get().Create("data format", name, options);
  if (source->size() == 0) {
    ThrowUserError(options.path, ": 0 images (format ", name, ", ", source->skipped(),
                   " samples left out as damaged); expected at least 1");
  }
  return source;
}

std::vector<std::string> ReadClassNames(const std::string& folder) {
  const std::string path = folder + "/classes.txt";
  std::vector<std::string> names;
  if (!IsFile(path)) return names;
  std::istringstream lines(ReadSmallFile(path, 16 << 20));
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) names.push_back(Printable(line));
  }
  return names;
}

}  // namespace gf
