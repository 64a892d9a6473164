#include "core/cuda/launch_inline.h"
#include "layers/cuda/input_kernels.h"

namespace gf {
namespace {

// Whole images: the order of the pixels stays.
template <typename T>
struct WholeRun {
  InputImages images;
  T* y;

  template <int kCount>
  __device__ void Run(int64_t i) const {
    const auto in = *reinterpret_cast<const Pack<uint8_t, kCount>*>(images.x + i);
    int c = static_cast<int>(i % images.channels);
    Floats<kCount> v;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      v.v[k] = (in.v[k] - images.mean[c]) * images.inverse_std[c];
      c = c + 1 == images.channels ? 0 : c + 1;
    }
    StoreFloats(y + i, v);
  }
};

// A part of each, perhaps mirrored.
template <typename T>
struct CutRun {
  InputImages images;
  T* y;

  // The first channel of the pixel that comes to a place of the result; null: outside of the image.
  __device__ const uint8_t* PixelAt(int64_t place) const {
    const int64_t column = place % images.out_width, rows = place / images.out_width;
    const int64_t row = rows % images.out_height, n = rows / images.out_height;
    const ImageCut cut = images.cuts[n];
    const int64_t x = cut.left + (cut.mirrored != 0 ? images.out_width - 1 - column : column);
    const int64_t y = cut.top + row;
    if (x < 0 || x >= images.width || y < 0 || y >= images.height) return nullptr;
    return images.of[n] + (y * images.width + x) * images.channels;
  }

  template <int kCount>
  __device__ void Run(int64_t i) const {
    int64_t place = i / images.channels;
    int c = static_cast<int>(i % images.channels);
    const uint8_t* pixel = PixelAt(place);
    Floats<kCount> v;
#pragma unroll
    for (int k = 0; k < kCount; ++k) {
      const float value = pixel != nullptr ? pixel[c] : 0;
      v.v[k] = (value - images.mean[c]) * images.inverse_std[c];
      if (++c < images.channels || k + 1 == kCount) continue;
      c = 0;
      pixel = PixelAt(++place);
    }
    StoreFloats(y + i, v);
  }
};

}  // namespace

void NormaliseImages(const InputImages& images, DType type, void* y, cudaStream_t stream) {
  const int64_t count = images.n * images.out_height * images.out_width * images.channels;
  WithType(type, [&](auto t) {
    using T = decltype(t);
    T* const to = static_cast<T*>(y);
    if (images.cuts == nullptr) {
      Elementwise<kPack<T>>(count, WholeRun<T>{images, to}, stream);
    } else {
      Elementwise<kPack<T>>(count, CutRun<T>{images, to}, stream);
    }
  });
}

}  // namespace gf
