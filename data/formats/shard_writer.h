#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/formats/record_writer.h"
#include "data/formats/tar_index.h"
#include "data/formats/tar_writer.h"

namespace gf {

// Writes one shard and the index file beside it.
class ShardWriter {
 public:
  // path: "folder/name-000000.tar"
  explicit ShardWriter(const std::string& path) : path_(path), tar_(path) {}

  // key: as FileNames makes them.
  void Add(const std::string& key, const EncodedImage& image, int64_t label);
  // The same with any number of labels.
  void Add(const std::string& key, const EncodedImage& image, const std::vector<float>& labels);
  void Close();

 private:
  void AddFiles(const std::string& key, const EncodedImage& image, const std::string& label);

  const std::string path_;
  TarWriter tar_;
  TarIndexWriter index_;
};

// "name-000012.tar"
std::string ShardName(const std::string& name, int64_t number);

}  // namespace gf
