#pragma once

#include <cstdint>
#include <string>

#include "core/output_file.h"

namespace gf {

// Writes a POSIX ustar. Equal contents give equal bytes: owner, date and rights are fixed.
class TarWriter {
 public:
  explicit TarWriter(const std::string& path) : file_(path) {}

  // name: at most 100 bytes. Returns where in the file the data lie.
  int64_t Add(const std::string& name, const void* data, size_t size);
  // Writes the end mark.
  void Close();
  // Written so far.
  int64_t bytes() const { return bytes_; }

 private:
  void Write(const void* data, size_t size);

  OutputFile file_;
  int64_t bytes_ = 0;
};

}  // namespace gf
