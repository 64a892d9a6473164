#include "tests/emulated_gpu/threads.h"

#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "tests/emulated_gpu/blocks.h"
#include "tests/emulated_gpu/crew.h"
#include "tests/emulated_gpu/shared_memory.h"

namespace gf::emulated {
namespace {

constexpr unsigned kCrews = 2, kMostThreads = 1024;

// The threads that run some of the blocks of one size. Its atomic numbers carry what
// ThreadSanitizer sees; the crew makes the threads wait.
struct Team {
  explicit Team(unsigned threads) : crew(threads) {}

  Crew crew;
  // Threads at barriers, by turns: who is late at one does not see what another did behind it.
  std::atomic<unsigned> at_barrier[2] = {{0}, {0}};
  // What threads hand in, by turns: one can be an exchange ahead of another, not two.
  std::atomic<uint64_t> bits[2][kMostThreads] = {};
};

// A thread of a block.
struct Self {
  Team* team;
  unsigned thread, barriers, exchanges;
};
thread_local Self self;

// The kernel that runs.
struct Launch {
  dim3 grid, block;
  const std::function<void()>* body;
  uint64_t number;  // of launches before
  Team* teams[kCrews];

  uint64_t blocks() const { return uint64_t{grid.x} * grid.y * grid.z; }
  // Bit `number` of the block's number, of as many bits as the numbers of the blocks have.
  unsigned CrewOf(uint64_t b) const {
    unsigned bits = 1;
    while (uint64_t{1} << bits < blocks()) ++bits;
    return (b >> (number % bits)) & 1;
  }
};
Launch launch;
// Rises when a kernel begins, and when one of its threads ends.
std::atomic<unsigned> begun, ended;

Team& GetTeam(unsigned threads, unsigned crew) {
  static auto* const teams = new std::map<unsigned, std::unique_ptr<Team>>[kCrews];
  std::unique_ptr<Team>& team = teams[crew][threads];
  if (team == nullptr) team = std::make_unique<Team>(threads);
  return *team;
}

void RunThread(uint64_t block, unsigned thread) {
  begun.load(std::memory_order_acquire);
  self = {launch.teams[launch.CrewOf(block)], thread, 0, 0};
  SetBlock(launch.grid, launch.block, block);
  SetThread(thread);
  (*launch.body)();
  ended.fetch_add(1, std::memory_order_release);
}

}  // namespace

bool UsesThreads() {
#ifdef GF_THREAD_SANITIZER
  return true;
#else
  static const bool uses = [] {
    const char* const text = std::getenv("GF_EMULATED_THREADS");
    return text != nullptr && std::string(text) == "1";
  }();
  return uses;
#endif
}

void RunGridOnThreads(const dim3& grid, const dim3& block, bool backwards,
                      const std::function<void()>& body) {
  const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
  launch = {grid, block, &body, launch.number + 1, {}};
  for (unsigned crew = 0; crew < kCrews && crew < blocks; ++crew) {
    launch.teams[crew] = &GetTeam(block.x * block.y * block.z, crew);
  }
  begun.fetch_add(1, std::memory_order_release);
  for (uint64_t i = 0; i < blocks; ++i) {
    if (i > 0) ForgetSharedMemory();
    const uint64_t b = backwards ? blocks - 1 - i : i;
    launch.teams[launch.CrewOf(b)]->crew.Run(&RunThread, b);
  }
  ended.load(std::memory_order_acquire);
}

void SyncRealThreads() {
  std::atomic<unsigned>& here = self.team->at_barrier[self.barriers++ % 2];
  here.fetch_add(1, std::memory_order_release);
  self.team->crew.WaitForAll();
  here.load(std::memory_order_acquire);
}

uint64_t ExchangeInRealWarp(uint64_t bits, int lane_mask) {
  auto& handed_in = self.team->bits[self.exchanges++ % 2];
  handed_in[self.thread].store(bits, std::memory_order_relaxed);
  self.team->crew.WaitForWarp(self.thread);
  return handed_in[self.thread ^ static_cast<unsigned>(lane_mask)].load(std::memory_order_relaxed);
}

}  // namespace gf::emulated
