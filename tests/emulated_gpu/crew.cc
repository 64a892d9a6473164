#include "tests/emulated_gpu/crew.h"

#include <glog/logging.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <thread>

namespace gf::emulated {
namespace {

void WaitWhile(std::atomic<uint32_t>* word, uint32_t value) {
  while (word->load(std::memory_order_acquire) == value) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
  }
}

void WakeAll(std::atomic<uint32_t>* word) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

class Crew::Lock {
 public:
  explicit Lock(Crew* crew) : crew_(crew) {
    while (crew_->locked_.exchange(true, std::memory_order_acquire)) sched_yield();
  }
  ~Lock() { crew_->locked_.store(false, std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Crew* const crew_;
};

Crew::Crew(unsigned threads)
    : threads_(threads), warp_here_(new Turn[(threads + kWarp - 1) / kWarp]()) {
  CHECK_LE(threads, kWarp * kMostWarps);
  // They hand over to each other all the time, which costs half as much on one processor.
  static const int processor = sched_getcpu();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  for (unsigned i = 0; i < threads; ++i) {
    std::thread thread(&Crew::Main, this, i);
    pthread_setaffinity_np(thread.native_handle(), sizeof(one), &one);
    thread.detach();
  }
}

void Crew::Main(unsigned thread) {
  for (uint32_t run = 0;; ++run) {
    WaitWhile(&runs_, run);
    task_(block_, thread);
    Return();
  }
}

void Crew::Run(Task task, uint64_t block) {
  task_ = task;
  block_ = block;
  returned_ = 0;
  const uint32_t before = all_returned_.load(std::memory_order_acquire);
  runs_.fetch_add(1, std::memory_order_release);
  WakeAll(&runs_);
  WaitWhile(&all_returned_, before);
}

void Crew::Return() {
  Turn* turn = nullptr;
  {
    const Lock lock(this);
    if (++returned_ == threads_) {
      turn = &all_returned_;
    } else if (waiting_for_all_ > 0 && waiting_for_all_ + returned_ == threads_) {
      waiting_for_all_ = 0;
      turn = &all_here_;
    }
    NextTurn(turn);
  }
  if (turn != nullptr) WakeAll(turn);
}

void Crew::WaitForAll() {
  const uint32_t before = all_here_.load(std::memory_order_acquire);
  bool last = false;
  {
    const Lock lock(this);
    last = ++waiting_for_all_ + returned_ == threads_;
    if (last) waiting_for_all_ = 0;
    NextTurn(last ? &all_here_ : nullptr);
  }
  last ? WakeAll(&all_here_) : WaitWhile(&all_here_, before);
}

void Crew::WaitForWarp(unsigned thread) {
  const unsigned warp = thread / kWarp;
  Turn& here = warp_here_[warp];
  const uint32_t before = here.load(std::memory_order_acquire);
  bool last = false;
  {
    const Lock lock(this);
    ++waiting_for_warps_;
    last = ++in_warp_[warp] == kWarp;
    if (last) {
      in_warp_[warp] = 0;
      waiting_for_warps_ -= kWarp;
    }
    NextTurn(last ? &here : nullptr);
  }
  last ? WakeAll(&here) : WaitWhile(&here, before);
}

void Crew::NextTurn(Turn* turn) {
  if (turn != nullptr) {
    turn->fetch_add(1, std::memory_order_release);
    return;
  }
  CHECK_LT(returned_ + waiting_for_all_ + waiting_for_warps_, threads_)
      << "threads of a block wait for different things";
}

}  // namespace gf::emulated
