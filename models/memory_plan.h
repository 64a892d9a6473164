#pragma once

#include <cstddef>
#include <vector>

namespace gf {

// Places buffers with known lifetimes in one arena. Buffers whose lifetimes overlap never share
// memory. Offsets are multiples of 256 bytes. Times are steps of the compiled net; both ends are
// inclusive.
class MemoryPlan {
 public:
  // Adds a buffer that is used from step `begin` to step `end`; returns its number.
  int Add(size_t bytes, int begin, int end);
  // Extends a buffer's lifetime (for in-place work on a blob).
  void Extend(int buffer, int begin, int end);

  // Chooses the offsets: the largest buffer first, each at the lowest free offset. With reuse =
  // false, every buffer gets its own memory.
  void Solve(bool reuse);

  size_t offset(int buffer) const { return buffers_[buffer].offset; }
  size_t bytes() const { return bytes_; }
  // Total size of all buffers without reuse.
  size_t bytes_without_reuse() const;

 private:
  struct Buffer {
    size_t bytes = 0;
    int begin = 0, end = 0;
    size_t offset = 0;
  };
  std::vector<Buffer> buffers_;
  size_t bytes_ = 0;
};

}  // namespace gf
