#include "models/arena.h"

#include <algorithm>
#include <numeric>

namespace gf {
namespace {

// Alignment of the workspace that cublasLtMatmul requires.
constexpr size_t kAlignment = 256;

}  // namespace

int Arena::Add(size_t bytes, int begin, int end) {
  buffers_.push_back({(bytes + kAlignment - 1) / kAlignment * kAlignment, begin, end, 0});
  return static_cast<int>(buffers_.size()) - 1;
}

void Arena::Extend(int buffer, int begin, int end) {
  Buffer& b = buffers_[buffer];
  b.begin = std::min(b.begin, begin);
  b.end = std::max(b.end, end);
}

size_t Arena::bytes_without_reuse() const {
  size_t total = 0;
  for (const Buffer& b : buffers_) total += b.bytes;
  return total;
}

void Arena::Solve(bool reuse) {
  bytes_ = 0;
  std::vector<int> order(buffers_.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return buffers_[a].bytes > buffers_[b].bytes; });
  std::vector<int> placed;  // by offset
  for (int i : order) {
    Buffer& buffer = buffers_[i];
    if (buffer.bytes == 0) continue;  // overlaps nothing
    size_t offset = reuse ? 0 : bytes_;
    if (reuse) {
      for (int j : placed) {
        const Buffer& other = buffers_[j];
        if (other.begin > buffer.end || other.end < buffer.begin) continue;
        if (offset + buffer.bytes <= other.offset) break;
        offset = std::max(offset, other.offset + other.bytes);
      }
    }
    buffer.offset = offset;
    bytes_ = std::max(bytes_, offset + buffer.bytes);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), i,
                         [&](int a, int b) { return buffers_[a].offset < buffers_[b].offset; }),
        i);
  }
}

}  // namespace gf
