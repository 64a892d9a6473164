#include "tests/emulated_gpu/blocks.h"

#include <glog/logging.h>
#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/emulated_gpu/threads.h"

namespace gf::emulated {

__thread Place place;

void SetBlock(const dim3& grid, const dim3& block, uint64_t number) {
  place.block = {static_cast<unsigned>(number % grid.x),
                 static_cast<unsigned>(number / grid.x % grid.y),
                 static_cast<unsigned>(number / grid.x / grid.y)};
  place.block_dim = block;
  place.grid_dim = grid;
}

// Contexts move between threads of the host, so that the address of `place` must not be kept.
__attribute__((noinline)) void SetThread(unsigned thread) {
  const uint3& size = place.block_dim;
  if (thread < size.x) {  // without divisions
    place.thread = {thread, 0, 0};
  } else {
    place.thread = {thread % size.x, thread / size.x % size.y, thread / size.x / size.y};
  }
}

namespace {

constexpr unsigned kWarp = 32;

const bool on_threads = UsesThreads();

bool backwards = [] {
  const char* const order = std::getenv("GF_EMULATED_ORDER");
  return order != nullptr && std::string(order) == "backwards";
}();

// Each thread of a block that has to wait keeps its stack, in a context of its own. Threads that
// never wait follow each other on one.
class Block {
 public:
  static Block& Get() {
    static Block* const block = new Block;
    return *block;
  }

  void Run(const dim3& size, const std::function<void()>& body) {
    body_ = &body;
    count_ = size.x * size.y * size.z;
    threads_.assign(count_, Thread());
    started_ = 0;
    while (started_ < count_) Resume(NextIdle());
    while (ResumeWarps() || ResumeAll()) {
    }
    for (const Thread& thread : threads_) {
      CHECK(thread.state == kDone) << "threads of a block wait for different things";
    }
  }

  void SyncThreads() { Wait(kAtBarrier); }

  uint64_t Exchange(uint64_t bits, int lane_mask) {
    Thread& own = threads_[current_->thread];
    // A thread can be one exchange ahead of another, not two.
    own.turn ^= 1;
    const int turn = own.turn;
    own.bits[turn] = bits;
    const unsigned other = current_->thread ^ static_cast<unsigned>(lane_mask);
    Wait(kAtExchange);
    return threads_[other].bits[turn];
  }

 private:
  enum State { kRunning, kAtBarrier, kAtExchange, kDone };
  struct Context {
    ucontext_t first;  // where it begins
    jmp_buf registers;
    bool begun = false;
    std::unique_ptr<char[]> stack;
    unsigned thread = 0;
    bool waited = false;  // since it was idle
  };
  struct Thread {
    State state = kRunning;
    Context* context = nullptr;
    uint64_t bits[2] = {0, 0};
    int turn = 0;
  };

  static constexpr size_t kStack = size_t{256} << 10;

  unsigned InOrder(unsigned i) const { return backwards ? count_ - 1 - i : i; }

  Context* NextIdle() {
    if (!idle_.empty()) return idle_.back();
    contexts_.push_back(std::make_unique<Context>());
    Context* const context = contexts_.back().get();
    context->stack = std::make_unique<char[]>(kStack);
    getcontext(&context->first);
    context->first.uc_stack = {context->stack.get(), 0, kStack};
    context->first.uc_link = nullptr;
    makecontext(&context->first, &Block::Main, 0);
    idle_.push_back(context);
    return context;
  }

  static void Main() { Get().Threads(); }

  // Runs threads that were not started, as long as there are some.
  void Threads() {
    for (;;) {
      Context* const own = current_;
      while (started_ < count_) {
        own->thread = InOrder(started_++);
        SetThread(own->thread);
        (*body_)();
        threads_[own->thread].state = kDone;
      }
      if (own->waited) idle_.push_back(own);
      own->waited = false;
      Leave();
    }
  }

  void Resume(Context* context) {
    current_ = context;
    SetThread(context->thread);
    if (_setjmp(scheduler_) != 0) return;
    if (context->begun) _longjmp(context->registers, 1);
    context->begun = true;
    setcontext(&context->first);
  }

  // Back to where the context was resumed. (swapcontext would do, with a system call each time.)
  void Leave() {
    if (_setjmp(current_->registers) == 0) _longjmp(scheduler_, 1);
  }

  void Wait(State state) {
    Context* const own = current_;
    Thread& thread = threads_[own->thread];
    thread.state = state;
    thread.context = own;
    if (!own->waited) idle_.pop_back();
    own->waited = true;
    Leave();
    thread.state = kRunning;
  }

  // Lets a warp go on whose threads have all handed in something.
  bool ResumeWarps() {
    bool any = false;
    for (unsigned begin = 0; begin < count_; begin += kWarp) {
      const unsigned end = std::min(begin + kWarp, count_);
      const auto waits = [](const Thread& t) { return t.state == kAtExchange; };
      if (end - begin < kWarp) continue;
      if (!std::all_of(&threads_[begin], &threads_[begin] + kWarp, waits)) continue;
      for (unsigned i = 0; i < kWarp; ++i) {
        Resume(threads_[begin + (backwards ? kWarp - 1 - i : i)].context);
      }
      any = true;
    }
    return any;
  }

  // Lets all go on if all that are there wait at a barrier.
  bool ResumeAll() {
    std::vector<Context*> waiting;
    for (unsigned i = 0; i < count_; ++i) {
      const Thread& thread = threads_[InOrder(i)];
      if (thread.state == kDone) continue;
      if (thread.state != kAtBarrier) return false;
      waiting.push_back(thread.context);
    }
    for (Context* context : waiting) Resume(context);
    return !waiting.empty();
  }

  const std::function<void()>* body_ = nullptr;
  unsigned count_ = 0, started_ = 0;
  std::vector<Thread> threads_;
  std::vector<std::unique_ptr<Context>> contexts_;
  std::vector<Context*> idle_;  // the last one is that which begins threads
  Context* current_ = nullptr;
  jmp_buf scheduler_;
};

}  // namespace

void RunGrid(const dim3& grid, const dim3& block, const std::function<void()>& body) {
  if (on_threads) return RunGridOnThreads(grid, block, backwards, body);
  const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
  for (uint64_t i = 0; i < blocks; ++i) {
    SetBlock(grid, block, backwards ? blocks - 1 - i : i);
    Block::Get().Run(block, body);
  }
}

void SetBackwards(bool value) { backwards = value; }

void SyncThreads() { on_threads ? SyncRealThreads() : Block::Get().SyncThreads(); }

// ThreadSanitizer knows no fences, but an atomic number orders what is around its changes.
void Fence() {
  static std::atomic<uint32_t> fences{0};
  fences.fetch_add(1, std::memory_order_seq_cst);
}

uint64_t ExchangeInWarp(uint64_t bits, int lane_mask) {
  return on_threads ? ExchangeInRealWarp(bits, lane_mask) : Block::Get().Exchange(bits, lane_mask);
}

}  // namespace gf::emulated
