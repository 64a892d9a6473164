#pragma once

#include <cuda_runtime_api.h>

namespace gf {

// data[0 .. 255] in the opposite order, by one block. Without the barrier threads read what others
// have not written yet, or have.
void Reverse(int* data, bool with_barrier, cudaStream_t stream);
// data[i] = i for 256 elements from `first` on.
void Number(int* data, int first, cudaStream_t stream);
// *sum = the sum of data[0 .. 255].
void Sum(const float* data, float* sum, cudaStream_t stream);
// Every second thread of a block waits at a barrier, the others for their neighbours.
void WaitInVain(cudaStream_t stream);
// data[0 .. 3] = data[0 .. 3], in one access.
void MoveFour(float* data, cudaStream_t stream);
// A block of so many threads.
void Nothing(int threads, cudaStream_t stream);

}  // namespace gf
