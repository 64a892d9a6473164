// The GPU's depthwise convolutions against the definition.
#include "layers/cuda/depthwise_kernels.h"

#include <algorithm>

#include "tests/layers/cuda/kernel_test.h"

namespace gf {
namespace {

struct Sizes {
  int64_t n, channels, multiplier, height, width, kernel_h, kernel_w, stride, pad, dilation;
};

// Filters with kernels of their own (3 and 5, strides 1 and 2) and others, with and without whole
// packs of channels, several filters per channel, images smaller than a filter, borders wider than
// one, and windows with gaps between them.
constexpr Sizes kSizes[] = {
    {2, 8, 1, 7, 6, 3, 3, 1, 1, 1},   {1, 136, 1, 5, 9, 3, 3, 2, 1, 1},
    {3, 16, 1, 6, 11, 5, 5, 1, 2, 1}, {1, 24, 1, 9, 10, 5, 5, 2, 3, 1},
    {1, 8, 1, 8, 8, 7, 7, 1, 3, 1},   {2, 16, 1, 7, 7, 3, 3, 1, 2, 2},
    {2, 8, 1, 11, 10, 3, 3, 3, 0, 1}, {1, 16, 1, 5, 12, 1, 7, 1, 3, 1},
    {2, 8, 1, 4, 5, 1, 1, 2, 0, 1},   {1, 1, 1, 9, 8, 3, 3, 1, 1, 1},
    {2, 3, 1, 6, 6, 5, 5, 2, 2, 1},   {1, 17, 1, 7, 5, 3, 3, 2, 1, 2},
    {1, 33, 1, 5, 6, 3, 3, 1, 1, 1},  {2, 8, 2, 6, 5, 3, 3, 1, 1, 1},
    {1, 5, 3, 7, 7, 5, 5, 2, 2, 1},   {1, 2, 32, 5, 5, 3, 3, 1, 1, 1},
    {1, 8, 1, 2, 1, 5, 5, 1, 2, 1},   {2, 8, 1, 1, 1, 3, 3, 1, 3, 1},
    {1, 8, 1, 9, 9, 2, 2, 3, 1, 1},   {1, 1, 4, 6, 7, 3, 3, 1, 1, 1},
};

ConvolutionShape ShapeOf(const Sizes& sizes) {
  ConvolutionShape s;
  s.n = sizes.n;
  s.channels = s.groups = sizes.channels;
  s.outputs = sizes.channels * sizes.multiplier;
  s.in[0] = sizes.height;
  s.in[1] = sizes.width;
  s.kernel[0] = sizes.kernel_h;
  s.kernel[1] = sizes.kernel_w;
  for (int axis = 0; axis < 2; ++axis) {
    s.stride[axis] = sizes.stride;
    s.pad[axis] = s.kernel[axis] == 1 ? 0 : sizes.pad;
    s.dilation[axis] = sizes.dilation;
    const int64_t extent = s.dilation[axis] * (s.kernel[axis] - 1) + 1;
    s.out[axis] = (s.in[axis] + 2 * s.pad[axis] - extent) / s.stride[axis] + 1;
  }
  return s;
}

// Calls f(input, filter, result) with the elements of every product.
template <typename F>
void ForProducts(const ConvolutionShape& s, const F& f) {
  const int64_t multiplier = s.outputs / s.channels;
  for (int64_t y = 0; y < s.y_count(); ++y) {
    const int64_t o = y % s.outputs, v = y / s.outputs % s.out[1];
    const int64_t h = y / s.outputs / s.out[1] % s.out[0], n = y / s.outputs / s.out[1] / s.out[0];
    for (int64_t i = 0; i < s.kernel[0]; ++i) {
      for (int64_t j = 0; j < s.kernel[1]; ++j) {
        const int64_t row = h * s.stride[0] - s.pad[0] + i * s.dilation[0];
        const int64_t column = v * s.stride[1] - s.pad[1] + j * s.dilation[1];
        if (row < 0 || row >= s.in[0] || column < 0 || column >= s.in[1]) continue;
        f(((n * s.in[0] + row) * s.in[1] + column) * s.channels + o / multiplier,
          (o * s.kernel[0] + i) * s.kernel[1] + j, y);
      }
    }
  }
}

class DepthwiseKernelsTest : public KernelTest {
 protected:
  // Eighths from -1 to 1: products and sums of them are exact in FP32.
  Numbers Draw(int64_t count, int stream) const {
    Numbers numbers(GetParam(), count);
    for (int64_t i = 0; i < count; ++i) {
      numbers.Set(i, static_cast<float>(static_cast<int>(Philox(9, stream, i)[0] % 17) - 8) / 8);
    }
    return numbers;
  }
  Numbers Rounded(const std::vector<float>& values) const {
    Numbers numbers(GetParam(), static_cast<int64_t>(values.size()));
    for (size_t i = 0; i < values.size(); ++i) numbers.Set(static_cast<int64_t>(i), values[i]);
    return numbers;
  }

  void Check(const Sizes& sizes) {
    const ConvolutionShape s = ShapeOf(sizes);
    ASSERT_TRUE(DepthwiseFits(s));
    SCOPED_TRACE(StrCat(s.n, " x ", s.in[0], " x ", s.in[1], " x ", s.channels, ", ", s.outputs,
                        " filters of ", s.kernel[0], " x ", s.kernel[1], ", stride ", s.stride[0],
                        ", pad ", s.pad[0], ", dilation ", s.dilation[0]));
    const Numbers x = Draw(s.x_count(), 1), w = Draw(s.w_count(), 2), dy = Draw(s.y_count(), 3),
                  bias = Draw(s.outputs, 4);
    std::vector<float> y(s.y_count()), dx(s.x_count()), dw(s.w_count());
    ForProducts(s, [&](int64_t input, int64_t filter, int64_t result) {
      y[result] += x.Get(input) * w.Get(filter);
      dx[input] += dy.Get(result) * w.Get(filter);
      dw[filter] += dy.Get(result) * x.Get(input);
    });
    std::vector<float> with_epilogue = y;
    for (size_t i = 0; i < y.size(); ++i) {
      with_epilogue[i] = std::max(y[i] + bias.Get(static_cast<int64_t>(i) % s.outputs), 0.f);
    }
    const DType type = GetParam();
    const auto gpu_x = Put(x), gpu_w = Put(w), gpu_dy = Put(dy), gpu_bias = Put(bias);
    const auto gpu_y = NewNumbers(type, s.y_count()), gpu_dx = NewNumbers(type, s.x_count()),
               gpu_dw = NewNumbers(type, s.w_count());
    DepthwiseForward(s, type, gpu_x.get(), gpu_w.get(), nullptr, false, gpu_y.get(), stream());
    ExpectSame(Get(gpu_y, type, s.y_count()), Rounded(y), "results");
    DepthwiseForward(s, type, gpu_x.get(), gpu_w.get(), gpu_bias.get(), true, gpu_y.get(),
                     stream());
    ExpectSame(Get(gpu_y, type, s.y_count()), Rounded(with_epilogue), "results with an epilogue");
    DepthwiseBackwardData(s, type, gpu_dx.get(), gpu_w.get(), gpu_dy.get(), stream());
    ExpectSame(Get(gpu_dx, type, s.x_count()), Rounded(dx), "gradient of the images");
    const auto workspace = device_->Allocate(DepthwiseFilterBytes(s, type));
    DepthwiseBackwardFilter(s, type, gpu_x.get(), gpu_dw.get(), gpu_dy.get(), workspace.get(),
                            stream());
    ExpectSame(Get(gpu_dw, type, s.w_count()), Rounded(dw), "gradient of the filters");
  }
};

TEST_P(DepthwiseKernelsTest, MatchTheDefinition) {
  for (const Sizes& sizes : kSizes) Check(sizes);
}

TEST_P(DepthwiseKernelsTest, PartsOfManyPixelsAreAddedUp) {
  // Several parts of the pixels per filter.
  Check({2, 8, 1, 70, 67, 3, 3, 1, 1, 1});
}

TEST_P(DepthwiseKernelsTest, LargeTensorsAreProcessedInGroups) {
  // An image has at most 54 pixels: groups of one image, and of two with one left over.
  for (const int64_t most : {60, 110}) {
    const ItemsOfGroup items(most);
    for (const Sizes& sizes :
         {Sizes{5, 8, 1, 6, 9, 3, 3, 1, 1, 1}, Sizes{3, 8, 1, 9, 6, 5, 5, 2, 2, 1},
          Sizes{3, 3, 2, 6, 8, 3, 3, 1, 1, 1}}) {
      Check(sizes);
    }
  }
}

TEST_P(DepthwiseKernelsTest, LeaveOtherConvolutionsToOthers) {
  ConvolutionShape s = ShapeOf(kSizes[0]);
  s.groups = 4;
  EXPECT_FALSE(DepthwiseFits(s)) << "two channels per group";
  EXPECT_FALSE(DepthwiseFits(ShapeOf({1, 8, 1, 20, 20, 8, 8, 1, 1, 1}))) << "64 taps";
  EXPECT_FALSE(DepthwiseFits(ShapeOf({1, 2, 33, 9, 9, 3, 3, 1, 1, 1}))) << "33 filters per channel";
  EXPECT_FALSE(DepthwiseFits(ShapeOf({1, 8, 1, 16384, 16384, 3, 3, 1, 1, 1}))) << "2^31 elements";
}

GF_FOR_EVERY_TYPE(DepthwiseKernelsTest);

}  // namespace
}  // namespace gf
