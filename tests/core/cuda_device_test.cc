#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/cuda/channels_last.h"
#include "core/device.h"

namespace gf {
namespace {

// The device, or null with the reason.
std::unique_ptr<Device> Gpu(std::string* why) {
  try {
    return DeviceRegistry::Get().Create("device", "cuda", 0);
  } catch (const UserError& e) {
    *why = e.what();
    return nullptr;
  }
}

class CudaDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    device_ = Gpu(&why);
    if (device_ == nullptr) GTEST_SKIP() << "NOT TESTED on a GPU: " << why;
  }

  Tensor New(Shape shape, DType type, Layout layout = Layout()) const {
    Tensor tensor;
    tensor.desc = {std::move(shape), type, std::move(layout)};
    tensor.owner = device_->Allocate(tensor.desc.bytes());
    tensor.data = tensor.owner.get();
    return tensor;
  }
  Tensor Upload(const Shape& shape, const std::vector<float>& values) const {
    Tensor tensor = New(shape, DType::kFP32);
    device_->CopyFromHost(values.data(), tensor.data, tensor.desc.bytes(),
                          device_->compute_stream());
    return tensor;
  }
  std::vector<float> Download(const Tensor& tensor) const {
    std::vector<float> values(tensor.desc.bytes() / sizeof(float));
    device_->CopyToHost(tensor.data, values.data(), tensor.desc.bytes(), device_->compute_stream());
    return values;
  }

  std::unique_ptr<Device> device_;
};

std::vector<float> Numbers(int64_t count) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 251) - 125;
  return values;
}

TEST(CudaDevice, SaysInOneLineThatThereIsNoneAndOffersTheCpu) {
  std::string why;
  if (Gpu(&why) != nullptr) GTEST_SKIP() << "there is one";
  EXPECT_NE(why.find("device \"cuda\""), std::string::npos) << why;
  EXPECT_NE(why.find("--set device=cpu"), std::string::npos) << why;
  EXPECT_EQ(why.find('\n'), std::string::npos) << why;
}

TEST(ChannelsLast, IsPlainWhereThatIsTheSameOrder) {
  EXPECT_TRUE(ImageLayout(Shape{5, 1, 7, 7}).plain());
  EXPECT_TRUE(ImageLayout(Shape{5, 9, 1, 1}).plain());
  EXPECT_EQ(ImageLayout(Shape{5, 3, 7, 6}).Name(), "nhwc");
  EXPECT_EQ(FilterLayout(Shape{5, 3, 7, 6}).Name(), "krsc");
  EXPECT_EQ(ImageLayout(Shape{5, 3, 7, 6}).StorageCount(Shape{5, 3, 7, 6}), 5 * 3 * 42);
  EXPECT_EQ(ImageLayout(Shape{5, 3, 7, 6}), ImageLayout(5, 3, 42));
  EXPECT_NE(ImageLayout(Shape{5, 3, 7, 6}), ImageLayout(5, 6, 21));
}

TEST_F(CudaDeviceTest, MemoryIsZeroAtFirstAndAgainWhenReused) {
  for (int turn = 0; turn < 2; ++turn) {
    const Tensor tensor = New(Shape{1000}, DType::kFP32);
    EXPECT_EQ(Download(tensor), std::vector<float>(1000, 0));
    const std::vector<float> ones(1000, 1);
    device_->CopyFromHost(ones.data(), tensor.data, tensor.desc.bytes(), device_->compute_stream());
    EXPECT_EQ(Download(tensor), ones);
  }
}

TEST_F(CudaDeviceTest, ConvertPutsChannelsLast) {
  const Shape shape{2, 3, 2, 2};
  const std::vector<float> plain = Numbers(24);
  const Tensor from = Upload(shape, plain), to = New(shape, DType::kFP32, ImageLayout(shape));
  device_->Convert(from, to, device_->compute_stream());
  const std::vector<float> last = Download(to);
  for (int n = 0; n < 2; ++n) {
    for (int c = 0; c < 3; ++c) {
      for (int s = 0; s < 4; ++s) {
        EXPECT_EQ(last[(n * 4 + s) * 3 + c], plain[(n * 3 + c) * 4 + s]);
      }
    }
  }
}

TEST_F(CudaDeviceTest, ConvertThereAndBackIsTheSame) {
  for (const Shape& shape : {Shape{3, 35, 33, 31}, Shape{1, 3, 227, 227}, Shape{64, 5, 3, 3}}) {
    const std::vector<float> values = Numbers(shape.count());
    const Tensor from = Upload(shape, values);
    for (DType type : {DType::kFP32, DType::kFP16, DType::kBF16}) {
      const Tensor last = New(shape, type, FilterLayout(shape)), cast = New(shape, type),
                   back = New(shape, DType::kFP32);
      device_->Convert(from, last, device_->compute_stream());
      device_->Convert(last, cast, device_->compute_stream());
      device_->Convert(cast, back, device_->compute_stream());
      EXPECT_EQ(Download(back), values) << shape.ToString() << " " << Name(type);
    }
  }
}

TEST_F(CudaDeviceTest, AStreamWaitsForAnothersEvent) {
  const auto other = device_->NewStream(StreamUse::kCommunication);
  const Tensor a = Upload(Shape{1 << 20}, Numbers(1 << 20)), b = New(Shape{1 << 20}, DType::kFP32);
  device_->Convert(a, b, device_->compute_stream());
  const auto done = device_->compute_stream()->Record();
  other->WaitFor(done.get());
  std::vector<float> values(1 << 20);
  device_->CopyToHost(b.data, values.data(), b.desc.bytes(), other.get());
  EXPECT_EQ(values, Numbers(1 << 20));
}

}  // namespace
}  // namespace gf
