#pragma once

#include <cstddef>
#include <memory>

namespace gf {

constexpr size_t kHugePage = size_t{2} << 20;

// Maps zeroed memory from the kernel, aligned to a huge page. A page is allocated when a thread
// first touches it, near that thread. Throws std::bad_alloc.
std::shared_ptr<void> MapPages(size_t bytes);

// Note [Huge pages]
// Steps run 2 to 5% faster on huge pages. But the kernel takes longer than the first step to
// provide them: it must zero them, and a virtual machine must often get them back from its host. So
// memory starts on ordinary pages and moves to huge pages after the first step has succeeded.
//
// Moves all blocks of MapPages to huge pages, with all compute threads. Later blocks start on huge
// pages. A kernel before Linux 6.1 moves blocks in the background, if at all.
void MoveToHugePages();

}  // namespace gf
