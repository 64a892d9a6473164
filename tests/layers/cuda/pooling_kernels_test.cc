// The GPU's pooling kernels against the definition, to the bit.
#include "layers/cuda/pooling_kernels.h"

#include <algorithm>
#include <limits>

#include "tests/layers/cuda/kernel_test.h"

namespace gf {
namespace {

struct Sizes {
  int64_t n;
  int channels, height, width, kernel, stride, pad;
};

// Windows with kernels of their own (3/2, 3/1, 2/2), with and without whole packs of channels, and
// others; images smaller than a window and windows that end behind the image.
constexpr Sizes kSizes[] = {
    {2, 16, 9, 7, 3, 2, 0}, {3, 8, 8, 10, 3, 2, 1}, {2, 8, 2, 3, 3, 2, 2},
    {1, 24, 5, 6, 3, 1, 1}, {2, 8, 4, 5, 3, 1, 0},  {2, 16, 6, 5, 2, 2, 0},
    {1, 8, 5, 4, 2, 2, 1},  {2, 5, 9, 7, 3, 2, 1},  {1, 3, 6, 6, 2, 2, 0},
    {2, 8, 11, 9, 5, 3, 2}, {1, 7, 10, 9, 4, 3, 1}, {1, 8, 19, 18, 17, 2, 8},
};

PoolingImages ImagesOf(const Sizes& s) {
  PoolingImages p;
  p.n = s.n;
  p.channels = s.channels;
  const int in[2] = {s.height, s.width};
  for (int axis = 0; axis < 2; ++axis) {
    p.in[axis] = in[axis];
    p.kernel[axis] = s.kernel;
    p.stride[axis] = s.stride;
    p.pad[axis] = s.pad;
    // Caffe's: rounded up, and the last window begins inside of the image.
    p.out[axis] = (in[axis] + 2 * s.pad - s.kernel + s.stride - 1) / s.stride + 1;
    if ((p.out[axis] - 1) * s.stride - s.pad >= in[axis]) --p.out[axis];
  }
  return p;
}

int64_t Count(const PoolingImages& p, const int* size) {
  return p.n * size[0] * size[1] * p.channels;
}

class PoolingKernelsTest : public KernelTest {
 protected:
  // Few values, so that maxima are often not the only ones; zeros of both signs, infinities and,
  // unless they are gradients, NaN.
  Numbers Draw(int64_t count, int stream, bool gradients) const {
    const float inf = std::numeric_limits<float>::infinity();
    const std::vector<float> values = {0.f, -0.f, 1.f, -1.f, 2.f, -inf, -3.f, inf, std::nanf("")};
    Numbers numbers(GetParam(), count);
    for (int64_t i = 0; i < count; ++i) {
      const uint32_t word = Philox(9, stream, i)[0];
      // Sums of few of these are exact in FP32.
      const float gradient = static_cast<float>(static_cast<int>(word % 201) - 100) / 8;
      numbers.Set(i, gradients ? gradient : values[word % values.size()]);
    }
    return numbers;
  }

  // Calls f(in, out, tap) for the pixels of a window, by element, in order.
  template <typename F>
  static void ForWindows(const PoolingImages& p, const F& f) {
    int64_t out = 0;
    for (int64_t n = 0; n < p.n; ++n) {
      for (int y = 0; y < p.out[0]; ++y) {
        for (int x = 0; x < p.out[1]; ++x) {
          for (int c = 0; c < p.channels; ++c, ++out) {
            for (int tap = 0; tap < p.kernel[0] * p.kernel[1]; ++tap) {
              const int h = y * p.stride[0] - p.pad[0] + tap / p.kernel[1];
              const int w = x * p.stride[1] - p.pad[1] + tap % p.kernel[1];
              if (h < 0 || h >= p.in[0] || w < 0 || w >= p.in[1]) continue;
              f(((n * p.in[0] + h) * p.in[1] + w) * p.channels + c, out, tap);
            }
          }
        }
      }
    }
  }

  struct Maxima {
    Numbers y;
    std::vector<int> taps;
  };
  Maxima Reference(const PoolingImages& p, const Numbers& x) const {
    Maxima found{Numbers(GetParam(), Count(p, p.out)), std::vector<int>(Count(p, p.out), -1)};
    ForWindows(p, [&](int64_t in, int64_t out, int tap) {
      const float v = x.Get(in);
      if (found.taps[out] < 0) {
        found.taps[out] = tap;
        found.y.Set(out, -std::numeric_limits<float>::infinity());
      }
      if (!(v > found.y.Get(out)) && v == v) return;
      found.y.Set(out, v);
      found.taps[out] = tap;
    });
    return found;
  }

  // The taps from the bytes, or pairs of them, of the kernels.
  std::vector<int> Taps(const std::shared_ptr<void>& memory, const PoolingImages& p) const {
    const bool bytes = p.kernel[0] * p.kernel[1] <= 256;
    const int64_t count = Count(p, p.out);
    std::vector<uint8_t> raw(count * (bytes ? 1 : 2));
    device_->CopyToHost(memory.get(), raw.data(), raw.size(), device_->compute_stream());
    std::vector<int> taps(count);
    for (int64_t i = 0; i < count; ++i) {
      taps[i] = bytes ? raw[i] : raw[2 * i] | raw[2 * i + 1] << 8;
    }
    return taps;
  }

  void CheckMaxima(const Sizes& sizes) {
    const PoolingImages p = ImagesOf(sizes);
    const int64_t in = Count(p, p.in), out = Count(p, p.out);
    const Numbers x = Draw(in, 1, false), dy = Draw(out, 2, true);
    const Maxima expected = Reference(p, x);
    const auto gpu_y = NewNumbers(GetParam(), out), gpu_dx = NewNumbers(GetParam(), in);
    const auto gpu_x = Put(x), gpu_dy = Put(dy), taps = device_->Allocate(2 * out);
    MaxPool(p, GetParam(), gpu_x.get(), gpu_y.get(), nullptr, stream());
    ExpectSame(Get(gpu_y, GetParam(), out), expected.y, "without taps");
    MaxPool(p, GetParam(), gpu_x.get(), gpu_y.get(), taps.get(), stream());
    ExpectSame(Get(gpu_y, GetParam(), out), expected.y, "with taps");
    ASSERT_EQ(Taps(taps, p), expected.taps);
    for (bool relu : {false, true}) {
      std::vector<float> sums(in);
      ForWindows(p, [&](int64_t i, int64_t o, int tap) {
        if (tap == expected.taps[o] && (!relu || expected.y.Get(o) > 0)) sums[i] += dy.Get(o);
      });
      Numbers dx(GetParam(), in);
      for (int64_t i = 0; i < in; ++i) dx.Set(i, sums[i]);
      MaxPoolGradient(p, GetParam(), gpu_dy.get(), relu ? gpu_y.get() : nullptr, taps.get(),
                      gpu_dx.get(), stream());
      ExpectSame(Get(gpu_dx, GetParam(), in), dx, relu ? "gradient through ReLU" : "gradient");
    }
  }

  void CheckAverages(const Sizes& sizes) {
    const PoolingImages p = ImagesOf(sizes);
    const int64_t in = Count(p, p.in), out = Count(p, p.out);
    const Numbers x = Draw(in, 3, true), dy = Draw(out, 4, true);
    // Part of the window inside of the padded image, along an axis.
    const auto taps = [&](int axis, int64_t i) {
      const int begin = static_cast<int>(i) * p.stride[axis] - p.pad[axis];
      return std::min(begin + p.kernel[axis], p.in[axis] + p.pad[axis]) - begin;
    };
    std::vector<float> scale(out), y(out), dx(in);
    for (int64_t o = 0; o < out; ++o) {
      const int64_t pixel = o / p.channels;
      scale[o] =
          1 / static_cast<float>(taps(0, pixel / p.out[1] % p.out[0]) * taps(1, pixel % p.out[1]));
    }
    ForWindows(p, [&](int64_t i, int64_t o, int) { y[o] += x.Get(i); });
    Numbers expected_y(GetParam(), out), expected_dx(GetParam(), in);
    for (int64_t o = 0; o < out; ++o) expected_y.Set(o, y[o] * scale[o]);
    const auto gpu_y = NewNumbers(GetParam(), out), gpu_dx = NewNumbers(GetParam(), in);
    const auto gpu_x = Put(x), gpu_dy = Put(dy);
    AveragePool(p, GetParam(), gpu_x.get(), gpu_y.get(), stream());
    ExpectSame(Get(gpu_y, GetParam(), out), expected_y, "averages");
    AveragePoolGradient(p, GetParam(), gpu_dy.get(), gpu_dx.get(), stream());
    const Numbers found = Get(gpu_dx, GetParam(), in);
    ForWindows(p, [&](int64_t i, int64_t o, int) { dx[i] += dy.Get(o) * scale[o]; });
    // A compiler for GPUs may add a product without rounding it.
    const float tolerance = GetParam() == DType::kFP32 ? 1e-5f : 1e-2f;
    for (int64_t i = 0; i < in; ++i) {
      ASSERT_NEAR(found.Get(i), dx[i], tolerance * (1 + std::fabs(dx[i]))) << i;
    }
  }
};

TEST_P(PoolingKernelsTest, MaximaAndTheirGradientsMatchTheDefinition) {
  for (const Sizes& sizes : kSizes) CheckMaxima(sizes);
}

TEST_P(PoolingKernelsTest, AveragesAndTheirGradientsMatchTheDefinition) {
  for (const Sizes& sizes : kSizes) CheckAverages(sizes);
}

TEST_P(PoolingKernelsTest, LargeTensorsAreProcessedInGroups) {
  // An image has 432 elements at most: groups of one image, and of two with one left over.
  for (int64_t most : {440, 900}) {
    const ItemsOfGroup items(most);
    for (const Sizes& sizes :
         {Sizes{5, 8, 6, 9, 3, 2, 1}, Sizes{3, 8, 9, 6, 5, 3, 2}, Sizes{3, 7, 6, 8, 3, 2, 1}}) {
      CheckMaxima(sizes);
      CheckAverages(sizes);
    }
  }
}

GF_FOR_EVERY_TYPE(PoolingKernelsTest);

}  // namespace
}  // namespace gf
