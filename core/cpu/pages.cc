#include "core/cpu/pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <new>

#include "core/parallel.h"

// Introduced in Linux 6.1; older headers lack it.
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

namespace gf {
namespace {

// All mapped blocks of this process.
struct Blocks {
  std::mutex mutex;
  std::map<char*, size_t> sizes;
  bool huge = false;  // MoveToHugePages was called
};

// Never destroyed, because static objects that own blocks may be destroyed later.
Blocks& AllBlocks() {
  static Blocks* const blocks = new Blocks;
  return *blocks;
}

void Unmap(char* data) {
  Blocks& blocks = AllBlocks();
  size_t size = 0;
  {
    std::lock_guard<std::mutex> lock(blocks.mutex);
    const auto block = blocks.sizes.find(data);
    size = block->second;
    blocks.sizes.erase(block);
  }
  munmap(data, size);
}

}  // namespace

std::shared_ptr<void> MapPages(size_t bytes) {
  const size_t size = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  void* raw =
      mmap(nullptr, size + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) throw std::bad_alloc();
  char* const begin = static_cast<char*>(raw);
  const size_t before = (kHugePage - reinterpret_cast<uintptr_t>(raw) % kHugePage) % kHugePage;
  char* const data = begin + before;
  if (before > 0) munmap(begin, before);
  munmap(data + size, kHugePage - before);
  Blocks& blocks = AllBlocks();
  std::lock_guard<std::mutex> lock(blocks.mutex);
  madvise(data, size, blocks.huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  blocks.sizes[data] = size;
  return std::shared_ptr<void>(data, [](void* p) { Unmap(static_cast<char*>(p)); });
}

void MoveToHugePages() {
  Blocks& blocks = AllBlocks();
  std::lock_guard<std::mutex> lock(blocks.mutex);
  if (blocks.huge) return;
  blocks.huge = true;
  for (const auto& [data, size] : blocks.sizes) {
    madvise(data, size, MADV_HUGEPAGE);
    ParallelFor(size, kHugePage, [data = data](int64_t begin, int64_t end) {
      madvise(data + begin, end - begin, MADV_COLLAPSE);
    });
  }
}

}  // namespace gf
