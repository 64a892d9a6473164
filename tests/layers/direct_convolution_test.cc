// Convolutions by their definition, which a GPU computes where cuDNN cannot.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/cuda/cuda_device.h"
#include "layers/cuda/direct_convolution_kernels.h"

namespace gf {
namespace {

constexpr int64_t kImages = 2, kChannels = 2, kOutputs = 3, kSide = 4, kKernel = 3;

// Images of 4 x 4, filters of 3 x 3 and a border of 1; all that is read is 1, so that every result
// is the number of products that it sums up.
class DirectConvolutionTest : public testing::Test {
 protected:
  DirectConvolutionTest() {
    shape_.n = kImages;
    shape_.channels = kChannels;
    shape_.outputs = kOutputs;
    for (const int axis : {0, 1}) {
      shape_.in[axis] = shape_.out[axis] = kSide;
      shape_.kernel[axis] = kKernel;
      shape_.stride[axis] = shape_.pad[axis] = shape_.dilation[axis] = 1;
    }
    x_ = Ones(shape_.x_count());
    w_ = Ones(shape_.w_count());
    y_ = Ones(shape_.y_count());
  }

  std::shared_ptr<void> Ones(int64_t count) {
    const std::vector<float> ones(count, 1);
    std::shared_ptr<void> data = device_.Allocate(count * sizeof(float));
    device_.CopyFromHost(ones.data(), data.get(), count * sizeof(float), device_.compute_stream());
    return data;
  }
  // By rows, columns and channels of the first image or filter.
  float At(const std::shared_ptr<void>& data, int64_t side, int64_t channels, int64_t row,
           int64_t column) {
    std::vector<float> values(side * side * channels);
    device_.CopyToHost(data.get(), values.data(), values.size() * sizeof(float),
                       device_.compute_stream());
    return values[(row * side + column) * channels];
  }
  cudaStream_t stream() { return RawStream(device_.compute_stream()); }

  CudaDevice device_;
  ConvolutionShape shape_;
  std::shared_ptr<void> x_, w_, y_;
};

TEST_F(DirectConvolutionTest, ForwardSumsOverTheFilter) {
  DirectForward(shape_, DType::kFP32, x_.get(), w_.get(), y_.get(), stream());
  EXPECT_EQ(At(y_, kSide, kOutputs, 0, 0), 2 * 2 * kChannels);
  EXPECT_EQ(At(y_, kSide, kOutputs, 1, 2), 3 * 3 * kChannels);
}

TEST_F(DirectConvolutionTest, TheImagesGradientSumsOverFiltersAndOutputs) {
  DirectBackwardData(shape_, DType::kFP32, x_.get(), w_.get(), y_.get(), stream());
  EXPECT_EQ(At(x_, kSide, kChannels, 0, 3), 2 * 2 * kOutputs);
  EXPECT_EQ(At(x_, kSide, kChannels, 2, 1), 3 * 3 * kOutputs);
}

TEST_F(DirectConvolutionTest, TheFiltersGradientSumsOverPlacesOfAllImages) {
  DirectBackwardFilter(shape_, DType::kFP32, x_.get(), w_.get(), y_.get(), stream());
  EXPECT_EQ(At(w_, kKernel, kChannels, 0, 0), 3 * 3 * kImages);
  EXPECT_EQ(At(w_, kKernel, kChannels, 1, 1), 4 * 4 * kImages);
}

}  // namespace
}  // namespace gf
