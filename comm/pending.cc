#include "comm/pending.h"

namespace gf {

void Pending::Wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return done_; });
  if (error_) std::rethrow_exception(error_);
}

bool Pending::WaitFor(double seconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto limit = std::chrono::duration<double>(seconds);
  if (!changed_.wait_for(lock, limit, [this] { return done_; })) return false;
  if (error_) std::rethrow_exception(error_);
  return true;
}

bool Pending::Done() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return done_;
}

void Pending::Begin() {
  std::lock_guard<std::mutex> lock(mutex_);
  started_ = Clock::now();
}

void Pending::End(std::exception_ptr error) {
  std::lock_guard<std::mutex> lock(mutex_);
  ended_ = Clock::now();
  error_ = error;
  done_ = true;
  changed_.notify_all();
}

}  // namespace gf
