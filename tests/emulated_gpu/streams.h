#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <mutex>

#include "tests/emulated_gpu/counts.h"

namespace gf::emulated {

// Work is done as late as it may be: when somebody waits for it. Who forgets to wait, or hands over
// memory that changes before the work's turn, computes with wrong numbers.

// Held by calls into the emulated libraries, but not while they wait.
std::recursive_mutex& Mutex();

// Puts work on a stream, or into the graph that it is captured into. `counted`: as what it counts;
// null: as nothing.
void Enqueue(cudaStream_t stream, int64_t Counts::*counted, std::function<void()> work);

// Work that others must do their part of: `attempt` is called until it returns true. The stream
// gets on by itself as far as there, as a GPU does: another process may wait for it.
void EnqueueAttempts(cudaStream_t stream, std::function<bool()> attempt);

// Whether a kernel can have this grid; if not cudaGetLastError says so.
bool CanLaunch(const dim3& grid, const dim3& block);

// Does all that is on the stream, or on all streams. False while the stream is captured. The caller
// does not hold the mutex.
bool Finish(cudaStream_t stream);
void FinishAll();

// The error that cudaGetLastError returns next.
void SetLastError(cudaError_t error);
cudaError_t TakeLastError();

}  // namespace gf::emulated
