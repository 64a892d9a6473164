#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/formats/record_source.h"

namespace gf {

// Finds the images of a source by their keys; holds hashes, 16 bytes per image.
class KeyIndex {
 public:
  // `source` must outlive the object. Throws UserError that names two images of one key.
  explicit KeyIndex(const RecordSource& source);

  // The image with this key, or with the key that remains without an image's ending; -1: none.
  int64_t Find(const std::string& key) const;

 private:
  int64_t FindExact(const std::string& key) const;

  const RecordSource& source_;
  std::vector<std::pair<uint64_t, int64_t>> entries_;  // hash of the key and image, sorted
};

// A file name without an image's ending: "a.b/c.jpg" -> "a.b/c".
std::string WithoutImageEnding(const std::string& name);

}  // namespace gf
