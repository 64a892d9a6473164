#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>

namespace gf::emulated {

// What a kernel sees as threadIdx, blockIdx, blockDim and gridDim.
struct Place {
  uint3 thread, block, block_dim, grid_dim;
};
// As cheap as a global variable.
extern __thread Place place __attribute__((tls_model("initial-exec")));
// By the numbers of a block, and of a thread of it.
void SetBlock(const dim3& grid, const dim3& block, uint64_t number);
void SetThread(unsigned thread);

// Runs `body` once per thread of a grid: block by block, the threads of a block one after the other
// from one barrier to the next, or on real threads (threads.h). LOG(FATAL) where the threads of a
// block wait for each other in vain.
void RunGrid(const dim3& grid, const dim3& block, const std::function<void()>& body);

// From now on blocks and threads take their turns from the last to the first, or again from the
// first on: what lacks a barrier gives another result. At the start: GF_EMULATED_ORDER=backwards.
void SetBackwards(bool backwards);

// For `body` only.
void SyncThreads();
// What comes before a fence comes before what follows a later fence of any thread.
void Fence();
// What the thread hands in whose number in the warp differs by `lane_mask`; all 32 take part.
uint64_t ExchangeInWarp(uint64_t bits, int lane_mask);

}  // namespace gf::emulated
