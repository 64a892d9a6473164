#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>

#include "core/error.h"

namespace gf {

// A file in memory that has a path.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("fuzz", 0)) {
    if (descriptor_ < 0) ThrowUserError("memfd_create failed");
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return StrCat("/proc/self/fd/", descriptor_); }
  void Set(const uint8_t* data, size_t size) {
    const bool done = ftruncate(descriptor_, 0) == 0 &&
                      pwrite(descriptor_, data, size, 0) == static_cast<ssize_t>(size);
    if (!done) ThrowUserError("a file in memory cannot be written");
  }

 private:
  const int descriptor_;
};

}  // namespace gf
