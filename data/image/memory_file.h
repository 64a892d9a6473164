#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/file_descriptor.h"

namespace gf {

// A file without a name that lives in memory, for libraries that read from a path only. It is gone
// with the object.
class MemoryFile {
 public:
  // Copies the bytes. Throws UserError if the system gives no such file.
  MemoryFile(const uint8_t* data, size_t size);

  // Valid in this process during the object's life.
  std::string path() const;

 private:
  const FileDescriptor descriptor_;
};

}  // namespace gf
