#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/output_file.h"

struct XXH3_state_s;

namespace gf {

// Size and XXH3 (64 bits) of a file's bytes.
struct FileDigest {
  uint64_t bytes = 0;
  uint64_t hash = 0;
  bool operator==(const FileDigest& other) const {
    return bytes == other.bytes && hash == other.hash;
  }
};

// "0123456789abcdef"
std::string HashName(uint64_t hash);

// Throws UserError if the file cannot be read.
FileDigest DigestFile(const std::string& path);

// An OutputFile that is hashed on the way.
class HashedFile {
 public:
  explicit HashedFile(const std::string& path);

  void Write(const void* data, size_t bytes);
  // Writes everything through to the disk and closes. Without it the file stays incomplete.
  FileDigest Finish();

 private:
  OutputFile file_;
  uint64_t bytes_ = 0;
  std::unique_ptr<XXH3_state_s, void (*)(XXH3_state_s*)> hash_;
};

}  // namespace gf
