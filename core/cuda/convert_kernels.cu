#include "core/cuda/convert_kernels.h"
#include "core/cuda/items_inline.h"

namespace gf {
namespace {

template <typename From, typename To>
struct Cast {
  const From* from;
  To* to;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    StoreFloats(to + i, LoadFloats<kCount>(from + i));
  }
};

constexpr int kTile = 32, kTileRows = 8;

// Moves one tile at a time through shared memory, so that both sides are accessed in order. Items
// are tiles; rows of items are matrices.
template <typename From, typename To>
__global__ void Transpose(const From* from, To* to, ItemGroups matrices, FastDivide across,
                          FastDivide down, int64_t rows, int64_t columns) {
  __shared__ float tile[kTile][kTile + 1];  // without bank conflicts
  const int64_t first = blockIdx.y * matrices.rows_of_group;
  const auto here = static_cast<uint32_t>(min(matrices.rows_of_group, matrices.rows - first));
  const uint32_t tiles = here * static_cast<uint32_t>(matrices.items);
  for (uint32_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const FastDivide::Result place = across.Divide(t), matrix = down.Divide(place.quotient);
    const int64_t base = (first + matrix.quotient) * rows * columns;
    const int64_t row = int64_t{matrix.remainder} * kTile;
    const int64_t column = int64_t{place.remainder} * kTile;
    From loaded[kTile / kTileRows];  // all before the first is used
#pragma unroll
    for (int k = 0; k < kTile / kTileRows; ++k) {
      const int y = static_cast<int>(threadIdx.y) + k * kTileRows;
      const bool inside = row + y < rows && column + threadIdx.x < columns;
      if (inside) loaded[k] = from[base + (row + y) * columns + column + threadIdx.x];
    }
#pragma unroll
    for (int k = 0; k < kTile / kTileRows; ++k) {
      tile[threadIdx.y + k * kTileRows][threadIdx.x] = ToFloat(loaded[k]);
    }
    __syncthreads();
    for (int y = threadIdx.y; y < kTile; y += kTileRows) {
      if (column + y < columns && row + threadIdx.x < rows) {
        to[base + (column + y) * rows + row + threadIdx.x] = FromFloat<To>(tile[threadIdx.x][y]);
      }
    }
    __syncthreads();
  }
}

}  // namespace

void CheckKernelsRunHere() {
  cudaFuncAttributes attributes;
  GF_CUDA(
      cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(&Transpose<float, float>)));
}

void CastElements(DType from_type, const void* from, DType to_type, void* to, int64_t count,
                  cudaStream_t stream) {
  WithType(from_type, [&](auto source) {
    WithType(to_type, [&](auto target) {
      using From = decltype(source);
      using To = decltype(target);
      const Cast<From, To> cast = {static_cast<const From*>(from), static_cast<To*>(to)};
      ElementwiseFrom(count, cast, stream, cast.from, cast.to);
    });
  });
}

void TransposeElements(DType from_type, const void* from, DType to_type, void* to, int64_t outer,
                       int64_t rows, int64_t columns, cudaStream_t stream) {
  WithType(from_type, [&](auto source) {
    WithType(to_type, [&](auto target) {
      using From = decltype(source);
      using To = decltype(target);
      const int64_t across = (columns + kTile - 1) / kTile, down = (rows + kTile - 1) / kTile;
      const ItemGroups matrices = GroupsOf(outer, across * down);
      if (matrices.rows == 0 || matrices.items == 0) return;
      const dim3 blocks(BlocksFor(matrices.rows_of_group * matrices.items * kThreads),
                        static_cast<unsigned>(matrices.count()));
      Launch({blocks, dim3(kTile, kTileRows), stream}, Transpose<From, To>,
             static_cast<const From*>(from), static_cast<To*>(to), matrices,
             FastDivide(static_cast<uint32_t>(across)), FastDivide(static_cast<uint32_t>(down)),
             rows, columns);
    });
  });
}

}  // namespace gf
