#pragma once

#include <cstddef>

namespace gf::emulated {

// The memory of the GPU: a range of addresses that can be used only while work of a stream is done.
// Another access by the host is a segmentation fault (in the first MiB).

// Filled with a pattern. Null where there is no more.
void* NewMemory(size_t bytes);
void FreeMemory(void* data);
size_t FreeBytes();
size_t TotalBytes();

// Whether all bytes lie in one allocation.
bool InMemory(const void* data, size_t bytes);

// Makes it usable while the object lives; LOG(FATAL) at its end if something was written beside an
// allocation.
class OpenMemory {
 public:
  OpenMemory();
  ~OpenMemory();
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;
};

}  // namespace gf::emulated
