#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace gf {

// Worker threads that start tasks in the order of their addition. For decoding and work that waits
// for files; arithmetic uses ParallelFor. Tasks must not throw.
class ThreadPool {
 public:
  explicit ThreadPool(int threads);
  // Drops tasks that have not started and waits for running ones.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  void Add(std::function<void()> task);
  int threads() const { return static_cast<int>(workers_.size()); }

 private:
  void Work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace gf
