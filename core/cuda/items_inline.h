#pragma once

#include "core/cuda/fast_divide_inline.h"
#include "core/cuda/item_groups.h"
#include "core/cuda/launch_inline.h"

namespace gf {

// Number of blocks per multiprocessor for which f's kernel must have enough registers; 0: ptxas
// chooses.
template <typename F>
constexpr int kBlocksOfItems = 0;

template <typename F>
__global__ void __launch_bounds__(kThreads, kBlocksOfItems<F>) ItemsKernel(ItemGroups groups, F f) {
  const int64_t first = blockIdx.y * groups.rows_of_group;
  const int64_t rows = min(groups.rows_of_group, groups.rows - first);
  const uint32_t count = static_cast<uint32_t>(rows) * static_cast<uint32_t>(groups.items);
  const uint32_t step = gridDim.x * blockDim.x;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) f.Run(first, i);
}

// Calls f.Run(first, i) on the GPU for every item i of every group; `first` is the first row of the
// group. See Note [Indices of 31 bits].
template <typename F>
void ForItems(const ItemGroups& groups, const F& f, cudaStream_t stream) {
  if (groups.rows == 0 || groups.items == 0) return;
  const dim3 blocks(BlocksFor(groups.rows_of_group * groups.items),
                    static_cast<unsigned>(groups.count()));
  Launch({blocks, kThreads, stream}, ItemsKernel<F>, groups, f);
}

}  // namespace gf
