#pragma once

#include <cstdint>
#include <string>

#include "data/file.h"

namespace gf {

// Writes a POSIX ustar. Equal contents give equal bytes: owner, date and rights are fixed.
class TarWriter {
 public:
  explicit TarWriter(const std::string& path) : file_(path) {}

  // name: at most 100 bytes.
  void Add(const std::string& name, const void* data, size_t size);
  // Writes the end mark.
  void Close();

 private:
  OutputFile file_;
};

}  // namespace gf
