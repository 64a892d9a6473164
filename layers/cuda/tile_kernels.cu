#include "core/cuda/items_inline.h"
#include "layers/cuda/tile_kernels.h"

namespace gf {
namespace {

// A row has `count` items.
template <typename T>
struct SumTiles {
  FastDivide count;
  int64_t tiles;
  const T* dy;
  T* dx;

  __device__ void Run(int64_t first, uint32_t item) const {
    const FastDivide::Result at = count.Divide(item);
    const int64_t step = count.divisor();
    const T* const own = dy + (first + at.quotient) * tiles * step + at.remainder;
    float sum = 0;
    for (int64_t tile = 0; tile < tiles; ++tile) sum += ToFloat(own[tile * step]);
    dx[first * step + item] = FromFloat<T>(sum);
  }
};

}  // namespace

void TileGradient(int64_t rows, int64_t tiles, int64_t count, DType type, const void* dy, void* dx,
                  cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const SumTiles<T> f = {FastDivide(static_cast<uint32_t>(count)), tiles,
                           static_cast<const T*>(dy), static_cast<T*>(dx)};
    ForItems(GroupsOf(rows, count), f, stream);
  });
}

}  // namespace gf
