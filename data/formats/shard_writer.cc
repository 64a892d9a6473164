#include "data/formats/shard_writer.h"

#include <cstdio>

namespace gf {

void ShardWriter::Add(const std::string& key, const EncodedImage& image, int64_t label) {
  AddFiles(key, image, std::to_string(label));
  index_.EndSample(label);
}

void ShardWriter::Add(const std::string& key, const EncodedImage& image,
                      const std::vector<float>& labels) {
  AddFiles(key, image, LabelText(labels));
  index_.EndSample();
}

void ShardWriter::AddFiles(const std::string& key, const EncodedImage& image,
                           const std::string& label) {
  const auto add = [&](const std::string& name, const void* data, size_t bytes) {
    index_.AddFile(name, tar_.Add(name, data, bytes), static_cast<int64_t>(bytes));
  };
  add(key + image.ending, image.data, image.size);
  add(key + ".cls", label.data(), label.size());
}

void ShardWriter::Close() {
  tar_.Close();
  index_.Write(TarIndexPath(path_), tar_.bytes());
}

std::string ShardName(const std::string& name, int64_t number) {
  char digits[32];
  std::snprintf(digits, sizeof(digits), "-%06lld.tar", static_cast<long long>(number));
  return name + digits;
}

}  // namespace gf
