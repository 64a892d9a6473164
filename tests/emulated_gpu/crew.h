#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace gf::emulated {

// As many real threads as a block has, which run one block after the other. All that is here is
// compiled without ThreadSanitizer and waits in the kernel's futexes: ThreadSanitizer sees no order
// between the threads of a crew, nor between them and who calls Run, except what they themselves
// show to it.
class Crew {
 public:
  // Never ends.
  explicit Crew(unsigned threads);
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  // Calls task(block, i) in thread i, for all of them at once; returns when all have returned.
  // LOG(FATAL) where all that have not returned wait, and not for the same.
  using Task = void (*)(uint64_t block, unsigned thread);
  void Run(Task task, uint64_t block);

  // For tasks. Returns when all threads that have not returned from the task are here.
  void WaitForAll();
  // Returns when all 32 threads of the caller's warp are here.
  void WaitForWarp(unsigned thread);

 private:
  static constexpr unsigned kWarp = 32, kMostWarps = 32;

  // Wakes who waits for the number to change.
  using Turn = std::atomic<uint32_t>;

  void Main(unsigned thread);
  void Return();
  // Under the lock: it is somebody's turn, or the caller's that waits, if another one runs still.
  void NextTurn(Turn* turn);

  const unsigned threads_;
  Task task_ = nullptr;
  uint64_t block_ = 0;
  Turn runs_{0}, all_returned_{0};
  Turn all_here_{0};
  const std::unique_ptr<Turn[]> warp_here_;

  std::atomic<bool> locked_{false};
  // Under the lock: how many threads have returned, wait for all, wait for their warps, and the
  // latter by warp.
  unsigned returned_ = 0, waiting_for_all_ = 0, waiting_for_warps_ = 0;
  unsigned in_warp_[kMostWarps] = {};

  class Lock;
};

}  // namespace gf::emulated
