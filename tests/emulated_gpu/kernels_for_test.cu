#include "core/cuda/block_sums_inline.h"
#include "core/cuda/launch_inline.h"
#include "tests/emulated_gpu/kernels_for_test.h"

namespace gf {
namespace {

__global__ void ReverseKernel(int* data, bool with_barrier) {
  __shared__ int kept[kThreads];
  const int i = static_cast<int>(threadIdx.x);
  data += blockIdx.x * kThreads;
  kept[i] = data[i];
  if (with_barrier) __syncthreads();
  data[i] = kept[kThreads - 1 - i];
}

__global__ void NumberKernel(int* data, int first) {
  const int i = first + static_cast<int>(threadIdx.x);
  data[i] = i;
}

__global__ void NumberPartsKernel(int* data, int parts) {
  const int i = static_cast<int>(blockIdx.x) % parts * kThreads + static_cast<int>(threadIdx.x);
  data[i] = i;
}

__global__ void SwapKernel(int* data) {
  __shared__ int kept[kThreads];
  const int i = static_cast<int>(threadIdx.x);
  kept[i] = data[i];
  __shfl_xor_sync(0xffffffffu, 0, 1);
  data[i] = kept[i ^ 1];
}

__global__ void ReverseHalfKernel(int* data) {
  __shared__ int kept[kThreads / 2];
  const int i = static_cast<int>(threadIdx.x);
  if (i >= kThreads / 2) return;
  kept[i] = data[i];
  __syncthreads();
  data[i] = kept[kThreads / 2 - 1 - i];
}

__global__ void AddInLastBlockKernel(int* data, bool with_fences) {
  if (threadIdx.x != 0) return;
  int* const sum = data + gridDim.x;
  unsigned* const arrived = reinterpret_cast<unsigned*>(sum + 1);
  data[blockIdx.x] = 1;
  if (with_fences) __threadfence();
  if (atomicInc(arrived, gridDim.x - 1) != gridDim.x - 1) return;
  if (with_fences) __threadfence();
  *sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) *sum += data[i];
}

__global__ void CountKernel(int* count) { atomicAdd(count, 1); }

__global__ void SumKernel(const float* data, float* sum) {
  const float total = BlockSum(data[threadIdx.x]);
  if (threadIdx.x == 0) *sum = total;
}

__global__ void WaitInVainKernel() {
  if (threadIdx.x % 2 == 0) {
    __syncthreads();
  } else {
    __shfl_xor_sync(0xffffffffu, 1, 1);
  }
}

__global__ void MoveFourKernel(float* data) { StoreFloats(data, LoadFloats<4>(data)); }

__global__ void NothingKernel() {}

}  // namespace

void Reverse(int* data, bool with_barrier, cudaStream_t stream) {
  Launch({1, kThreads, stream}, ReverseKernel, data, with_barrier);
}
void ReverseParts(int* data, int parts, cudaStream_t stream) {
  Launch({parts, kThreads, stream}, ReverseKernel, data, true);
}
void Number(int* data, int first, cudaStream_t stream) {
  Launch({1, kThreads, stream}, NumberKernel, data, first);
}
void NumberParts(int* data, int blocks, int parts, cudaStream_t stream) {
  Launch({blocks, kThreads, stream}, NumberPartsKernel, data, parts);
}
void Swap(int* data, cudaStream_t stream) { Launch({1, kThreads, stream}, SwapKernel, data); }
void ReverseHalf(int* data, cudaStream_t stream) {
  Launch({1, kThreads, stream}, ReverseHalfKernel, data);
}
void AddInLastBlock(int* data, int blocks, bool with_fences, cudaStream_t stream) {
  Launch({blocks, kThreads, stream}, AddInLastBlockKernel, data, with_fences);
}
void Count(int* count, int blocks, cudaStream_t stream) {
  Launch({blocks, kThreads, stream}, CountKernel, count);
}
void Sum(const float* data, float* sum, cudaStream_t stream) {
  Launch({1, kThreads, stream}, SumKernel, data, sum);
}
void WaitInVain(cudaStream_t stream) { Launch({1, kThreads, stream}, WaitInVainKernel); }
void MoveFour(float* data, cudaStream_t stream) { Launch({1, 1, stream}, MoveFourKernel, data); }
void Nothing(int threads, cudaStream_t stream) { Launch({1, threads, stream}, NothingKernel); }

}  // namespace gf
