#include "comm/pack/cuda/copy_kernels.h"
#include "core/cuda/launch_inline.h"

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

}  // namespace gf
