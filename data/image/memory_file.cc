#include "data/image/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "core/error.h"
#include "core/file.h"

namespace gf {
namespace {

constexpr char kName[] = "a file in memory";

int Create() {
  const int descriptor = memfd_create("gradientflow", MFD_CLOEXEC);
  if (descriptor < 0) ThrowFileError("create", kName, errno);
  return descriptor;
}

}  // namespace

MemoryFile::MemoryFile(const uint8_t* data, size_t size) : descriptor_(Create()) {
  while (size > 0) {
    const ssize_t written = write(descriptor_.get(), data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) ThrowFileError("write", kName, errno);
    data += written;
    size -= static_cast<size_t>(written);
  }
}

std::string MemoryFile::path() const { return StrCat("/proc/self/fd/", descriptor_.get()); }

}  // namespace gf
