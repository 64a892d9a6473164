#include <glog/logging.h>

#include <nlohmann/json.hpp>

#include "solvers/checkpoint/safetensors.h"

namespace gf {

SafetensorsWriter::SafetensorsWriter(const std::string& path, std::vector<SafetensorsEntry> entries,
                                     const std::map<std::string, std::string>& metadata)
    : entries_(std::move(entries)), file_(path) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  uint64_t position = 0;
  for (SafetensorsEntry& entry : entries_) {
    const int element = SafetensorsElementSize(entry.dtype);
    CHECK_GT(element, 0) << entry.dtype;
    CHECK(!header.contains(entry.name)) << entry.name;
    entry.begin = position;
    entry.end = position += static_cast<uint64_t>(entry.count()) * element;
    header[entry.name] = {{"dtype", entry.dtype},
                          {"shape", entry.shape.dims()},
                          {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text = header.dump();
  // The data start at a multiple of 8, so that readers may map them.
  text.append((8 - text.size() % 8) % 8, ' ');
  uint8_t prefix[8];
  for (int i = 0; i < 8; ++i) prefix[i] = static_cast<uint8_t>(text.size() >> (8 * i));
  file_.Write(prefix, sizeof(prefix));
  file_.Write(text.data(), text.size());
}

void SafetensorsWriter::Write(const void* values, size_t bytes) {
  CHECK_LT(next_, entries_.size());
  const SafetensorsEntry& entry = entries_[next_++];
  CHECK_EQ(bytes, entry.end - entry.begin) << entry.name;
  file_.Write(values, bytes);
}

FileDigest SafetensorsWriter::Finish() {
  CHECK_EQ(next_, entries_.size());
  return file_.Finish();
}

}  // namespace gf
