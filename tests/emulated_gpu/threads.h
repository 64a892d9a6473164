#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>

namespace gf::emulated {

// Kernels on real threads: one per thread of a block. ThreadSanitizer sees the order that CUDA
// promises and no other:
//   - barriers order the threads of a block; exchanges in a warp do not;
//   - the blocks of a grid have no order: they follow each other, since they share the memory that
//     is __shared__, on crews of threads in turn, without ThreadSanitizer's knowing. Two blocks of
//     the same crew may look ordered. They are distributed otherwise in the next launch, so that
//     after a few launches every two blocks were of different crews;
//   - what the host did before is before, what it does afterwards is after the whole grid.

// Whether this process runs kernels like that: where it is built with --config=races, or
// GF_EMULATED_THREADS=1.
bool UsesThreads();

// As RunGrid, SyncThreads and ExchangeInWarp in blocks.h.
void RunGridOnThreads(const dim3& grid, const dim3& block, bool backwards,
                      const std::function<void()>& body);
void SyncRealThreads();
uint64_t ExchangeInRealWarp(uint64_t bits, int lane_mask);

}  // namespace gf::emulated
