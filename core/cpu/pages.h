#pragma once

#include <cstddef>
#include <memory>

namespace gf {

constexpr size_t kHugePage = size_t{2} << 20;

// Memory straight from the kernel: zeros, aligned to a huge page; a page is taken when it is first
// touched, near the thread that does. Throws std::bad_alloc.
std::shared_ptr<void> MapPages(size_t bytes);

// Note [Huge pages]
// Steps run 2-5 % faster on huge pages, but to supply fresh ones (zeroed, on a virtual machine
// often asked back from the host) takes the kernel longer than the first step itself. So memory
// starts on ordinary pages and moves to huge ones once the first step is done and has shown that
// everything works.
//
// Moves all blocks of MapPages to huge pages, by all compute threads; what is mapped later
// starts on them. A kernel that cannot (before Linux 6.1) does it
// in the background, if at all.
void MoveToHugePages();

}  // namespace gf
