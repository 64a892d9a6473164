#pragma once

#include <cstddef>
#include <vector>

namespace gf {

// Places buffers with known lifetimes in one arena, so that two whose lifetimes overlap never
// share memory. Offsets are multiples of 256 bytes. Times are steps of the compiled net; both ends
// are inclusive.
class MemoryPlan {
 public:
  // Adds a buffer that is used at steps [begin, end] and returns its number.
  int Add(size_t bytes, int begin, int end);
  // Lengthens a buffer's life (a blob that is worked on in place).
  void Extend(int buffer, int begin, int end);

  // Chooses the offsets: largest first, each at the lowest free place. With reuse = false every
  // buffer gets its own memory.
  void Solve(bool reuse);

  size_t offset(int buffer) const { return buffers_[buffer].offset; }
  size_t bytes() const { return bytes_; }
  // What all buffers take together, without reuse.
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
