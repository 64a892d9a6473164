#include "core/cuda/block_sums_inline.h"
#include "core/cuda/launch_inline.h"
#include "tests/emulated_gpu/kernels_for_test.h"

namespace gf {
namespace {

__global__ void ReverseKernel(int* data, bool with_barrier) {
  __shared__ int kept[kThreads];
  const int i = static_cast<int>(threadIdx.x);
  kept[i] = data[i];
  if (with_barrier) __syncthreads();
  data[i] = kept[kThreads - 1 - i];
}

__global__ void NumberKernel(int* data, int first) {
  const int i = first + static_cast<int>(threadIdx.x);
  data[i] = i;
}

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
void Number(int* data, int first, cudaStream_t stream) {
  Launch({1, kThreads, stream}, NumberKernel, data, first);
}
void Sum(const float* data, float* sum, cudaStream_t stream) {
  Launch({1, kThreads, stream}, SumKernel, data, sum);
}
void WaitInVain(cudaStream_t stream) { Launch({1, kThreads, stream}, WaitInVainKernel); }
void MoveFour(float* data, cudaStream_t stream) { Launch({1, 1, stream}, MoveFourKernel, data); }
void Nothing(int threads, cudaStream_t stream) { Launch({1, threads, stream}, NothingKernel); }

}  // namespace gf
