#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace gf {

enum class Progress { kNone, kSome, kDone };

// Messages from rank to rank, used by one thread of a rank at a time. Messages between two ranks
// with the same tag arrive in the order in which they were sent; a send and its receive have the
// same length.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Start a message; return its number. The memory is left alone until it is Done. Tags are
  // 0 .. kTags - 1.
  static constexpr int kTags = 1 << 28;
  virtual int64_t Send(int to, const void* data, size_t bytes, int tag) = 0;
  virtual int64_t Receive(int from, void* data, size_t bytes, int tag) = 0;

  // Whether the message is through. After `true` its number is free for others.
  virtual bool Done(int64_t message) = 0;

  // Calls `advance` until it says kDone. Throws CommError after timeout_s in which it said
  // nothing but kNone; the message names `operation` and who is missing. `bytes`: how many this
  // rank exchanges in all; a thread that waits for few watches closely, one that waits for many
  // leaves the processor to others.
  virtual void Drive(const std::function<Progress()>& advance, const std::string& operation,
                     int64_t bytes) = 0;
};

}  // namespace gf
