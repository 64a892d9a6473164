#include "comm/failure/progress_watch.h"

#include <exception>
#include <utility>

#include "core/error.h"

namespace gf {
namespace {

constexpr auto kInterval = std::chrono::milliseconds(50);
constexpr auto kDrainInterval = std::chrono::microseconds(200);

}  // namespace

ProgressWatch::ProgressWatch(double limit_s, Transport transport)
    : limit_s_(limit_s), transport_(std::move(transport)), thread_([this] { Loop(); }) {}

ProgressWatch::~ProgressWatch() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void ProgressWatch::Add(Operation operation) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (operations_.empty()) since_ = Clock::now();
  operations_.push_back(std::move(operation));
}

void ProgressWatch::Drain() {
  for (;;) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      Look();
      if (operations_.empty()) return;
    }
    std::this_thread::sleep_for(kDrainInterval);
  }
}

std::string ProgressWatch::failure() const {
  const std::lock_guard<std::mutex> lock(failure_mutex_);
  return failure_;
}

void ProgressWatch::Loop() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_) {
    Look();
    changed_.wait_for(lock, kInterval, [this] { return stop_; });
  }
}

void ProgressWatch::Look() {
  if (operations_.empty()) return;
  try {
    const Clock::time_point now = Clock::now();
    while (!operations_.empty() && operations_.front().done()) {
      operations_.pop_front();
      since_ = now;
    }
    // After the operations: one that ended by an error is not taken for done.
    const std::string error = transport_.error();
    if (!error.empty()) return Fail(error);
    if (operations_.empty()) return;
    if (!operations_.front().ready()) since_ = now;
    if (std::chrono::duration<double>(now - since_).count() > limit_s_) {
      Fail(StrCat("no progress for ", limit_s_, " s"));
    }
  } catch (const std::exception& e) {
    Fail(e.what());
  }
}

void ProgressWatch::Fail(const std::string& what) {
  const std::string label = operations_.empty() ? "the last collective" : operations_.front().label;
  operations_.clear();
  {
    const std::lock_guard<std::mutex> lock(failure_mutex_);
    if (!failure_.empty()) return;
    failure_ = StrCat(label, ": ", what);
  }
  transport_.abort();
}

}  // namespace gf
