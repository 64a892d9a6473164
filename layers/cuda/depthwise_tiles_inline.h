#pragma once

#include "layers/cuda/depthwise_inline.h"

namespace gf {

// Note [Tiles of depthwise convolutions]
// A thread computes kTile neighboring pixels of a row, each with kCount neighboring channels, whose
// sums it keeps in registers. The threads of a block with equal threadIdx.x share their channels; a
// block first brings the filters of its channels to shared memory, as FP32 in the order
// [tap][filter], and then goes through many tiles.
constexpr int kTile = 4;
constexpr int kMostDepthwiseTaps = 49, kMostDepthwiseMultiplier = 32;
constexpr int kMostFilters = 128;          // of a block
constexpr int64_t kMostTileBlocks = 2048;  // several for each multiprocessor of any GPU

struct DepthwiseTiles {
  FastDivide columns, rows;  // tiles of a row, rows of an image
  ItemGroups groups;         // of images; see Note [Indices of 31 bits]
  int channels;              // of the tensor that is written
  int filters;               // per channel of that tensor
  int taps;
  bool flip;  // whether filters are turned by 180 degrees
};

// Neighboring pixels that a thread computes.
struct TilePixels {
  int64_t image;
  int row, column;  // the first column
};

// Stores the tile's pixels inside the image.
template <typename T, int kCount>
__device__ void StoreTile(const Images<T>& y, const TilePixels& at, int channel,
                          const Floats<kCount>* sums) {
  T* const row = y.At(at.image, channel) + y.Offset(at.row, at.column);
#pragma unroll
  for (int t = 0; t < kTile; ++t) {
    if (at.column + t < y.width) StoreFloats(row + t * y.channels, sums[t]);
  }
}

// The filters from number `first` on; zeros behind the last one.
template <typename T>
__device__ void LoadFilters(const DepthwiseTiles& tiles, const T* w, int first, int count,
                            float* shared) {
  const int all = tiles.channels * tiles.filters;
  const int thread = static_cast<int>(threadIdx.y * blockDim.x + threadIdx.x);
  for (int i = thread; i < count * tiles.taps; i += kThreads) {
    const int filter = i / tiles.taps, tap = i - filter * tiles.taps;
    const int64_t from = int64_t{first + filter} * tiles.taps + tap;
    shared[(tiles.flip ? tiles.taps - 1 - tap : tap) * count + filter] =
        first + filter < all ? ToFloat(w[from]) : 0;
  }
}

// blockIdx.x: channels, y: part of the tiles, z: group of images.
template <typename T, typename F>
__global__ void __launch_bounds__(kThreads, 2) TilesKernel(DepthwiseTiles tiles, const T* w, F f) {
  alignas(32) __shared__ float filters[kMostDepthwiseTaps * kMostFilters];
  const int across = static_cast<int>(blockDim.x) * F::kCount;
  const int own = static_cast<int>(threadIdx.x) * F::kCount;
  const int first = static_cast<int>(blockIdx.x) * across, step = across * tiles.filters;
  LoadFilters(tiles, w, first * tiles.filters, step, filters);
  __syncthreads();
  const int channel = first + own;
  if (channel >= tiles.channels) return;
  const int64_t first_image = blockIdx.z * tiles.groups.rows_of_group;
  const int64_t images = min(tiles.groups.rows_of_group, tiles.groups.rows - first_image);
  const uint32_t count = static_cast<uint32_t>(images) * static_cast<uint32_t>(tiles.groups.items);
  const uint32_t stride = gridDim.y * blockDim.y;
  for (uint32_t i = blockIdx.y * blockDim.y + threadIdx.y; i < count; i += stride) {
    const FastDivide::Result column = tiles.columns.Divide(i),
                             row = tiles.rows.Divide(column.quotient);
    const TilePixels at = {first_image + row.quotient, static_cast<int>(row.remainder),
                           static_cast<int>(column.remainder) * kTile};
    f.Run(at, channel, filters + own * tiles.filters, step);
  }
}

// `written`: the tensor that f writes, of n images.
template <typename T, typename F>
void ForTiles(int64_t n, const Images<T>& written, int filters, int taps, bool flip, const void* w,
              const F& f, cudaStream_t stream) {
  const int columns = (written.width + kTile - 1) / kTile;
  const ItemGroups groups = GroupsOf(n, int64_t{1} * written.height * columns);
  if (groups.rows == 0 || groups.items == 0) return;
  const DepthwiseTiles tiles = {FastDivide(static_cast<uint32_t>(columns)),
                                FastDivide(static_cast<uint32_t>(written.height)),
                                groups,
                                written.channels,
                                filters,
                                taps,
                                flip};
  int most = F::kCount > 1 ? kMostFilters / F::kCount : 32;
  while (most * F::kCount * filters > kMostFilters) most /= 2;
  const int packs = written.channels / F::kCount, across = ThreadsAcross(packs, most);
  const int64_t blocks = (packs + across - 1) / across, down = kThreads / across;
  const int64_t parts = std::min((groups.rows_of_group * groups.items + down - 1) / down,
                                 std::max<int64_t>(1, kMostTileBlocks / blocks));
  const dim3 block(static_cast<unsigned>(across), static_cast<unsigned>(down));
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(parts),
                  static_cast<unsigned>(groups.count()));
  Launch({grid, block, stream}, TilesKernel<T, F>, tiles, static_cast<const T*>(w), f);
}

}  // namespace gf
