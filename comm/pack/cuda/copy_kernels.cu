#include "comm/pack/cuda/copy_kernels.h"
#include "core/cuda/launch_inline.h"
#include "core/cuda/numbers_inline.h"

namespace gf {
namespace {

template <typename T>
__global__ void __launch_bounds__(kThreads)
    CopyKernel(const CopyRange* ranges, T* pool, T* packed, bool pack) {
  const CopyRange range = ranges[blockIdx.x];
  for (int64_t i = threadIdx.x; i < range.count; i += blockDim.x) {
    if (pack) {
      packed[range.packed + i] = pool[range.pool + i];
    } else {
      pool[range.pool + i] = packed[range.packed + i];
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    MergeKernel(const CopyRange* ranges, T* pool, float* residual) {
  const CopyRange range = ranges[blockIdx.x];
  for (int64_t i = threadIdx.x; i < range.count; i += blockDim.x) {
    const float kept = residual[range.pool + i];
    if (kept == 0) continue;
    T* const element = pool + range.pool + i;
    *element = FromFloat<T>(ToFloat(*element) + kept);
    residual[range.pool + i] = 0;
  }
}

}  // namespace

void CopyRanges(const CopyRange* ranges, int count, DType type, void* pool, void* packed, bool pack,
                cudaStream_t stream) {
  if (count == 0) return;
  WithType(type, [&](auto t) {
    using T = decltype(t);
    Launch({count, kThreads, stream}, CopyKernel<T>, ranges, static_cast<T*>(pool),
           static_cast<T*>(packed), pack);
  });
}

void MergeRanges(const CopyRange* ranges, int64_t count, DType type, void* pool, float* residual,
                 cudaStream_t stream) {
  if (count == 0) return;
  WithType(type, [&](auto t) {
    Launch({count, kThreads, stream}, MergeKernel<decltype(t)>, ranges,
           static_cast<decltype(t)*>(pool), residual);
  });
}

}  // namespace gf
