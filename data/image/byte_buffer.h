#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace gf {

// Reusable memory. It grows when a request exceeds all earlier ones; its content is neither kept
// nor initialized.
class ByteBuffer {
 public:
  // At least `bytes` bytes, valid until the next call.
  uint8_t* Reserve(size_t bytes) {
    if (bytes > capacity_ || !data_) {
      data_.reset();
      capacity_ = 0;
      const size_t grown = bytes + bytes / 4 + 64;
      data_.reset(new uint8_t[grown]);
      capacity_ = grown;
    }
    return data_.get();
  }

 private:
  std::unique_ptr<uint8_t[]> data_;
  size_t capacity_ = 0;
};

}  // namespace gf
