#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace gf {

// Watches operations that a device does one after the other, from a thread of its own. When their
// transport reports an error, or the first one that is not done makes no progress for too long,
// they are aborted and the failure is kept: a device cannot throw.
class ProgressWatch {
 public:
  struct Operation {
    std::string label;
    // What it waits for on this rank is done; from then on time counts.
    std::function<bool()> ready;
    std::function<bool()> done;
  };
  // All are called by the watch's thread, or in Drain, one at a time.
  struct Transport {
    std::function<std::string()> error;  // what went wrong, "" as long as nothing did
    std::function<void()> abort;         // ends all operations; called once; throws nothing
  };

  // `limit_s`: seconds without progress.
  ProgressWatch(double limit_s, Transport transport);
  ~ProgressWatch();
  ProgressWatch(const ProgressWatch&) = delete;
  ProgressWatch& operator=(const ProgressWatch&) = delete;

  void Add(Operation operation);

  // Returns when all operations are done or were aborted.
  void Drain();

  // What went wrong, with the operation's label; "" as long as nothing did. Set before operations
  // are aborted: who sees one end can trust it if there is no failure afterwards.
  std::string failure() const;

 private:
  using Clock = std::chrono::steady_clock;

  void Loop();
  // Looks once; with mutex_ held.
  void Look();
  void Fail(const std::string& what);

  const double limit_s_;
  const Transport transport_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Operation> operations_;  // not done, in order
  Clock::time_point since_;           // the first one has made no progress
  bool stop_ = false;
  mutable std::mutex failure_mutex_;  // so that nobody waits for an abort to learn of it
  std::string failure_;
  std::thread thread_;
};

}  // namespace gf
