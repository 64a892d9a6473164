#include "core/cuda/items_inline.h"
#include "layers/cuda/input_kernels.h"

namespace gf {
namespace {

// Iterates over the source pixels in the order of the result.
class CutPixels {
 public:
  // Starts at pixel `place`, counted from image `first` of the batch.
  __device__ CutPixels(const InputImages& images, const FastDivide& height, const FastDivide& width,
                       int64_t first, uint32_t place)
      : images_(images),
        height_(static_cast<int>(height.divisor())),
        width_(static_cast<int>(width.divisor())) {
    const FastDivide::Result row = width.Divide(place), image = height.Divide(row.quotient);
    column_ = static_cast<int>(row.remainder);
    row_ = static_cast<int>(image.remainder);
    image_ = first + image.quotient;
    cut_ = images_.cuts[image_];
    BeginRow();
  }

  // The first channel of the next pixel, or null outside an image that is not reflected.
  __device__ const uint8_t* Next(int channels) {
    if (column_ == width_) {
      column_ = 0;
      if (++row_ == height_) {
        row_ = 0;
        cut_ = images_.cuts[++image_];
      }
      BeginRow();
    }
    int x = cut_.left + (cut_.mirrored != 0 ? width_ - 1 - column_ : column_);
    if (cut_.reflected != 0) x = ReflectedPixel(x, static_cast<int>(images_.width));
    ++column_;
    return line_ == nullptr || x < 0 || x >= images_.width ? nullptr : line_ + x * channels;
  }

 private:
  __device__ void BeginRow() {
    int y = cut_.top + row_;
    if (cut_.reflected != 0) y = ReflectedPixel(y, static_cast<int>(images_.height));
    const bool inside = y >= 0 && y < images_.height;
    line_ = inside ? images_.of[image_] + y * images_.width * images_.channels : nullptr;
  }

  const InputImages& images_;
  const int height_, width_;
  int column_, row_;
  int64_t image_;
  ImageCut cut_;
  const uint8_t* line_;  // source row; null outside an image that is not reflected
};

// Whole images keep the order of their pixels.
class WholePixels {
 public:
  __device__ WholePixels(const InputImages& images, const FastDivide& height,
                         const FastDivide& width, int64_t first, uint32_t place)
      : at_(images.x + (first * height.divisor() * width.divisor() + place) * images.channels) {}

  __device__ const uint8_t* Next(int channels) {
    const uint8_t* const pixel = at_;
    at_ += channels;
    return pixel;
  }

 private:
  const uint8_t* at_;
};

// A thread computes as many pixels as 16 bytes have elements. So stores have 16 bytes for any
// number of channels, and the compiler knows where each pixel begins.
template <typename T, typename Source, int kChannels>
struct PixelsRun {
  static constexpr int kPixels = kPack<T>, kCount = kPixels * kChannels;
  InputImages images;
  FastDivide height, width;  // of the result
  T* y;

  __device__ void Load(int64_t first, uint32_t place, int n, uint8_t (&bytes)[kCount]) const {
    Source source(images, height, width, first, place);
    if constexpr (std::is_same_v<Source, WholePixels>) {
      if (n == kPixels) {
        const auto* const packs =
            reinterpret_cast<const Pack<uint8_t, kPixels>*>(source.Next(kChannels));
#pragma unroll
        for (int j = 0; j < kChannels; ++j) {
          const Pack<uint8_t, kPixels> pack = packs[j];
#pragma unroll
          for (int k = 0; k < kPixels; ++k) bytes[j * kPixels + k] = pack.v[k];
        }
        return;
      }
    }
#pragma unroll
    for (int p = 0; p < kPixels; ++p) {
      const uint8_t* const pixel = p < n ? source.Next(kChannels) : nullptr;
#pragma unroll
      for (int c = 0; c < kChannels; ++c) {
        bytes[p * kChannels + c] = pixel != nullptr ? pixel[c] : 0;
      }
    }
  }

  // Computes `n` pixels from pixel `place` on, counted from image `first`.
  __device__ void Run(int64_t first, uint32_t place, int n) const {
    uint8_t bytes[kCount];
    Load(first, place, n, bytes);
    float mean[kChannels], factor[kChannels];
#pragma unroll
    for (int c = 0; c < kChannels; ++c) {
      mean[c] = images.mean[c];
      factor[c] = images.inverse_std[c];
    }
    T* const to = y + (first * height.divisor() * width.divisor() + place) * kChannels;
#pragma unroll
    for (int j = 0; j < kChannels; ++j) {
      Floats<kPixels> v;
#pragma unroll
      for (int k = 0; k < kPixels; ++k) {
        const int i = j * kPixels + k;
        v.v[k] = (bytes[i] - mean[i % kChannels]) * factor[i % kChannels];
        if (n < kPixels && i < n * kChannels) to[i] = FromFloat<T>(v.v[k]);
      }
      if (n == kPixels) StoreFloats(to + j * kPixels, v);
    }
  }
};

// One pixel per thread, for any number of channels.
template <typename T, typename Source>
struct PixelsRun<T, Source, 0> {
  static constexpr int kPixels = 1;
  InputImages images;
  FastDivide height, width;
  T* y;

  __device__ void Run(int64_t first, uint32_t place, int) const {
    Source source(images, height, width, first, place);
    const uint8_t* const pixel = source.Next(images.channels);
    T* const to = y + (first * height.divisor() * width.divisor() + place) * images.channels;
    for (int c = 0; c < images.channels; ++c) {
      const float value = pixel != nullptr ? pixel[c] : 0;
      to[c] = FromFloat<T>((value - images.mean[c]) * images.inverse_std[c]);
    }
  }
};

// Processes the pixels of a group of images (Note [Indices of 31 bits]), F::kPixels at a time.
template <typename F>
__global__ void __launch_bounds__(kThreads) PixelsKernel(ItemGroups groups, F f) {
  const int64_t first = blockIdx.y * groups.rows_of_group;
  const int64_t images = min(groups.rows_of_group, groups.rows - first);
  const uint32_t pixels = static_cast<uint32_t>(images) * static_cast<uint32_t>(groups.items);
  const uint32_t step = gridDim.x * blockDim.x * F::kPixels;
  for (uint32_t i = (blockIdx.x * blockDim.x + threadIdx.x) * F::kPixels; i < pixels; i += step) {
    f.Run(first, i, static_cast<int>(min(pixels - i, uint32_t{F::kPixels})));
  }
}

template <typename T, typename Source, int kChannels>
void RunPixels(const InputImages& images, T* y, cudaStream_t stream) {
  using Run = PixelsRun<T, Source, kChannels>;
  const Run run = {images, FastDivide(static_cast<uint32_t>(images.out_height)),
                   FastDivide(static_cast<uint32_t>(images.out_width)), y};
  // The first pixel of a group is also at a multiple of 16 bytes.
  const ItemGroups groups = GroupsOf(images.n, images.out_height * images.out_width, Run::kPixels);
  const int64_t runs = (groups.rows_of_group * groups.items + Run::kPixels - 1) / Run::kPixels;
  const dim3 blocks(BlocksFor(runs), static_cast<unsigned>(groups.count()));
  Launch({blocks, kThreads, stream}, PixelsKernel<Run>, groups, run);
}

template <typename T, typename Source>
void RunChannels(const InputImages& images, T* y, cudaStream_t stream) {
  switch (images.channels) {
    case 1:
      return RunPixels<T, Source, 1>(images, y, stream);
    case 3:
      return RunPixels<T, Source, 3>(images, y, stream);
    case 4:
      return RunPixels<T, Source, 4>(images, y, stream);
    default:
      return RunPixels<T, Source, 0>(images, y, stream);
  }
}

// Rows of items are the rows of the window. A thread takes one element of each image.
template <typename T>
struct MixRows {
  int64_t images, image, row, begin;  // elements of an image and of a row; where the window begins
  FastDivide items;                   // of the window in a row
  float share;
  T* y;

  __device__ void Run(int64_t first, uint32_t item) const {
    const FastDivide::Result place = items.Divide(item);
    const int64_t at = begin + (first + place.quotient) * row + place.remainder;
    T* const last = y + (images - 1) * image + at;
    const float last_value = ToFloat(*last);
    float own = last_value;
    for (T* to = last; to != y + at; to -= image) {
      const float other = ToFloat(*(to - image));
      *to = FromFloat<T>(share * own + (1 - share) * other);
      own = other;
    }
    y[at] = FromFloat<T>(share * own + (1 - share) * last_value);
  }
};

}  // namespace

void MixImages(const BatchMix& mix, const Shape& shape, DType type, void* y, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    const int64_t row = shape[3] * shape[1], items = mix.width * shape[1];
    const MixRows<T> f = {shape[0],
                          shape.count(1, 4),
                          row,
                          mix.top * row + mix.left * shape[1],
                          FastDivide(static_cast<uint32_t>(items)),
                          mix.pixel_share,
                          static_cast<T*>(y)};
    ForItems(GroupsOf(mix.height, items), f, stream);
  });
}

void NormalizeImages(const InputImages& images, DType type, void* y, cudaStream_t stream) {
  WithType(type, [&](auto t) {
    using T = decltype(t);
    if (images.cuts == nullptr) {
      RunChannels<T, WholePixels>(images, static_cast<T*>(y), stream);
    } else {
      RunChannels<T, CutPixels>(images, static_cast<T*>(y), stream);
    }
  });
}

}  // namespace gf
