#include "layers/cuda/fold_kernels.h"
#include "layers/cuda/image_places_inline.h"

namespace gf {
namespace {

// The values of a row of a block, [q][c], lie side by side in the images.
template <typename T, int kCount>
struct FoldPixels {
  ImagePlaces<kCount> places;  // of `to`
  FastDivide row_of_block;     // its divisor: number of values
  Images<const T> from;
  Images<T> to;
  int block_height, stride[2], shift[2];

  __device__ void Run(int64_t first, uint32_t item) const {
    const Place at = places.At(first, item);
    const FastDivide::Result place = row_of_block.Divide(static_cast<uint32_t>(at.channel));
    int p = static_cast<int>(place.quotient), value = static_cast<int>(place.remainder);
    const int values = static_cast<int>(row_of_block.divisor());
    const int top = at.y * stride[0] - shift[0];
    const int left = (at.x * stride[1] - shift[1]) * from.channels;
    const unsigned width = static_cast<unsigned>(from.width * from.channels);
    const T* const image = from.At(at.image, 0);
    Pack<T, kCount> pack;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const int y = top + p, x = left + value;
      const bool inside = p < block_height && static_cast<unsigned>(y) < unsigned(from.height) &&
                          static_cast<unsigned>(x) < width;
      pack.v[k] = inside ? image[y * static_cast<int>(width) + x] : FromFloat<T>(0);
      if (++value == values) value = 0, ++p;
    }
    T* const result = to.At(at.image, at.channel) + to.Offset(at.y, at.x);
    *reinterpret_cast<Pack<T, kCount>*>(result) = pack;
  }
};

template <typename T>
struct UnfoldPixels {
  ImagePlaces<1> places;  // of `to`
  Images<const T> from;
  Images<T> to;
  int block[2], shift[2];

  __device__ void Run(int64_t first, uint32_t item) const {
    const Place at = places.At(first, item);
    const int y = at.y + shift[0], x = at.x + shift[1];
    const int channel = (y % block[0] * block[1] + x % block[1]) * to.channels + at.channel;
    to.At(at.image, at.channel)[to.Offset(at.y, at.x)] =
        from.At(at.image, channel)[from.Offset(y / block[0], x / block[1])];
  }
};

}  // namespace

void Fold(const Folding& f, DType type, const void* images, void* folded, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const ImagePlaces<kPack<T>> places(f.n, f.folded_size[0], f.folded_size[1], f.folded_channels);
    const FoldPixels<T, kPack<T>> fold = {
        places,
        FastDivide(f.block[1] * f.channels),
        {static_cast<const T*>(images), f.size[0], f.size[1], f.channels},
        {static_cast<T*>(folded), f.folded_size[0], f.folded_size[1], f.folded_channels},
        f.block[0],
        {f.stride[0], f.stride[1]},
        {f.shift[0], f.shift[1]}};
    ForItems(places.groups(), fold, stream);
  });
}

void Unfold(const Folding& f, DType type, const void* folded, void* images, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const ImagePlaces<1> places(f.n, f.size[0], f.size[1], f.channels);
    const UnfoldPixels<T> unfold = {
        places,
        {static_cast<const T*>(folded), f.folded_size[0], f.folded_size[1], f.folded_channels},
        {static_cast<T*>(images), f.size[0], f.size[1], f.channels},
        {f.block[0], f.block[1]},
        {f.shift[0], f.shift[1]}};
    ForItems(places.groups(), unfold, stream);
  });
}

}  // namespace gf
