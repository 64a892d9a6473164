#include "tests/emulated_gpu/memory.h"

#include <glog/logging.h>
#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>

namespace gf::emulated {
namespace {

constexpr size_t kTotal = size_t{16} << 30, kPage = 4096, kGap = 256;
// More would make every call slow.
constexpr size_t kGuarded = size_t{1} << 20;
constexpr int kFresh = 0xcb, kFence = 0xa5;

struct Arena {
  Arena() {
    void* const data =
        mmap(nullptr, kTotal, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(data != MAP_FAILED);
    base = static_cast<char*>(data);
  }

  // The pages that were ever handed out, as far as they are guarded.
  void Protect(int how) const {
    const size_t bytes = std::min(used, kGuarded);
    CHECK_EQ(mprotect(base, (bytes + kPage - 1) / kPage * kPage, how), 0);
  }

  char* base;
  size_t used = 0;                 // bytes from base
  std::map<char*, size_t> blocks;  // allocated: bytes without the gap behind them
  std::multimap<size_t, char*> free_blocks;
  size_t taken = 0;
  int open = 0;
};

Arena& Get() {
  static Arena* const arena = new Arena;
  return *arena;
}

// With the gap behind it.
size_t Room(size_t bytes) { return (bytes + kGap - 1) / kGap * kGap + kGap; }

// What lies between an allocation's end and the next one. With --config=asan reading it is an
// error.
void Fence(char* data, size_t bytes) {
  std::memset(data + bytes, kFence, Room(bytes) - bytes);
  ASAN_POISON_MEMORY_REGION(data + bytes, Room(bytes) - bytes);
}

__attribute__((no_sanitize("address"))) bool FenceStands(const char* data, size_t bytes) {
  const size_t end = Room(bytes);
  for (size_t i = bytes; i < end; ++i) {
    if (data[i] != static_cast<char>(kFence)) return false;
  }
  return true;
}

}  // namespace

void* NewMemory(size_t bytes) {
  Arena& arena = Get();
  const size_t room = Room(bytes);
  char* data = nullptr;
  const auto found = arena.free_blocks.find(room);
  if (found != arena.free_blocks.end()) {
    data = found->second;
    arena.free_blocks.erase(found);
  } else {
    if (room > kTotal - arena.used) return nullptr;
    data = arena.base + arena.used;
    arena.used += room;
  }
  arena.taken += room;
  arena.blocks[data] = bytes;
  const size_t first = (data - arena.base) / kPage * kPage;
  CHECK_EQ(mprotect(arena.base + first, data - arena.base - first + room, PROT_READ | PROT_WRITE),
           0);
  ASAN_UNPOISON_MEMORY_REGION(data, room);
  std::memset(data, kFresh, bytes);
  Fence(data, bytes);
  if (arena.open == 0) arena.Protect(PROT_NONE);
  return data;
}

void FreeMemory(void* data) {
  Arena& arena = Get();
  const auto block = arena.blocks.find(static_cast<char*>(data));
  CHECK(block != arena.blocks.end()) << "freed, and not allocated";
  const size_t room = Room(block->second);
  arena.free_blocks.emplace(room, block->first);
  arena.taken -= room;
  ASAN_POISON_MEMORY_REGION(block->first, room);
  arena.blocks.erase(block);
}

size_t FreeBytes() { return kTotal - Get().taken; }
size_t TotalBytes() { return kTotal; }

bool InMemory(const void* data, size_t bytes) {
  const Arena& arena = Get();
  const char* const first = static_cast<const char*>(data);
  auto block = arena.blocks.upper_bound(const_cast<char*>(first));
  if (block == arena.blocks.begin()) return false;
  --block;
  return first + bytes <= block->first + block->second;
}

OpenMemory::OpenMemory() {
  Arena& arena = Get();
  if (arena.open++ == 0) arena.Protect(PROT_READ | PROT_WRITE);
}

OpenMemory::~OpenMemory() {
  Arena& arena = Get();
  for (const auto& [data, bytes] : arena.blocks) {
    CHECK(FenceStands(data, bytes)) << "written beside an allocation of " << bytes << " bytes";
  }
  if (--arena.open == 0) arena.Protect(PROT_NONE);
}

}  // namespace gf::emulated
