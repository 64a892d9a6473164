#pragma once

#include <cuda_runtime_api.h>

namespace gf {

// data[0 .. 255] in the opposite order, by one block. Without the barrier threads read what others
// have not written yet, or have.
void Reverse(int* data, bool with_barrier, cudaStream_t stream);
// The same, with the barrier, with each of some parts of 256 elements, by a block for each.
void ReverseParts(int* data, int parts, cudaStream_t stream);
// Swaps neighbours of data[0 .. 255] through memory that only an exchange in the warp guards.
void Swap(int* data, cudaStream_t stream);
// data[0 .. 127] in the opposite order, by a block of 256 threads of which half end at once.
void ReverseHalf(int* data, cudaStream_t stream);
// Every one of 256 threads of each block adds one to *count.
void Count(int* count, int blocks, cudaStream_t stream);
// data[i] = 1 by block i; the block that counts itself last in data[blocks + 1], which is 0 before
// and after, adds them up in data[blocks]. Without the fences it may not see what the others wrote.
void AddInLastBlock(int* data, int blocks, bool with_fences, cudaStream_t stream);
// data[i] = i for 256 elements from `first` on.
void Number(int* data, int first, cudaStream_t stream);
// The same for some parts of 256 elements: block b writes part b modulo `parts`.
void NumberParts(int* data, int blocks, int parts, cudaStream_t stream);
// *sum = the sum of data[0 .. 255].
void Sum(const float* data, float* sum, cudaStream_t stream);
// Every second thread of a block waits at a barrier, the others for their neighbours.
void WaitInVain(cudaStream_t stream);
// data[0 .. 3] = data[0 .. 3], in one access.
void MoveFour(float* data, cudaStream_t stream);
// A block of so many threads.
void Nothing(int threads, cudaStream_t stream);

}  // namespace gf
