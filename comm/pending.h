#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>

namespace gf {

// A collective that was started: done by the communication thread, waited for by another.
class Pending {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Pending(std::string label) : label_(std::move(label)) {}

  // Returns when it is done; rethrows what ended it.
  void Wait();
  // Whether it was done within so many seconds; rethrows.
  bool WaitFor(double seconds);
  bool Done() const;

  const std::string& label() const { return label_; }
  // When the communication thread began and ended it; after Wait.
  Clock::time_point started() const { return started_; }
  Clock::time_point ended() const { return ended_; }

  // For the communication thread.
  void Begin();
  void End(std::exception_ptr error);

 private:
  const std::string label_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::exception_ptr error_;
  Clock::time_point started_, ended_;
};

}  // namespace gf
