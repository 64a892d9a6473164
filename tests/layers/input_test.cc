// How batches of images enter a net.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/random.h"
#include "tests/layers/device_test.h"

namespace gf {
namespace {

constexpr int64_t kImages = 5, kHeight = 7, kWidth = 9;

// The pixel at place `i` of an axis whose reflections go on without end.
int64_t Reflected(int64_t i, int64_t size) {
  const int64_t period = 2 * (size - 1), place = (i % period + period) % period;
  return place < size ? place : period - place;
}

class InputTest : public DeviceTest {
 protected:
  // A net's inputs: images of this many channels, and labels: a class, or `values` numbers.
  void Build(int64_t channels, DType compute, int values = 0) {
    channels_ = channels;
    compute_ = compute;
    kernel_.reset();
    setup_ = {};
    LayerParameter param;
    param.set_name("data");
    param.set_type("Input");
    param.add_top("image");
    param.add_top("label");
    std::vector<int64_t> labels = {kImages};
    if (values > 0) labels.push_back(values);
    param.mutable_input_param()->set_label_values(values);
    for (const std::vector<int64_t>& dims :
         {std::vector<int64_t>{kImages, channels, kHeight, kWidth}, labels}) {
      BlobShape* const shape = param.mutable_input_param()->add_shape();
      for (int64_t dim : dims) shape->add_dim(dim);
    }
    device_ = DeviceRegistry::Get().Create("device", GetParam(), 2);
    layer_ = LayerRegistry::Get().Create("layer type", "Input", param, TRAIN, std::string("here"));
    layer_->SetUp({});
    KernelContext context;
    context.device = device_.get();
    context.compute = compute;
    kernel_ = KernelRegistry::Get().Create("kernel", GetParam() + "/Input", *layer_, context);
    for (size_t i = 0; i < 2; ++i) {
      setup_.tops.push_back(
          {layer_->tops()[i], layer_->TopType(static_cast<int>(i), compute), Layout()});
    }
    kernel_->Setup(&setup_);
  }

  // Bytes at random in images of this size.
  Batch NewBatch(int64_t height, int64_t width) {
    Batch batch;
    const Shape shape = {kImages, channels_, height, width};
    auto bytes = std::make_shared<std::vector<uint8_t>>(shape.count());
    for (size_t i = 0; i < bytes->size(); ++i) {
      (*bytes)[i] = static_cast<uint8_t>(Philox(1, 2, i)[0]);
    }
    batch.images = {{shape, DType::kUINT8, Layout()}, bytes->data(), bytes};
    for (int64_t i = 0; i < kImages; ++i) batch.labels.push_back(10 + i);
    return batch;
  }

  // The images in plain order, as the net gets them; checks the labels.
  std::vector<float> Run(const Batch& batch) {
    KernelArgs args;
    args.batch = &batch;
    std::vector<Tensor> tops;
    for (const TensorDesc& desc : setup_.tops) tops.push_back(New(desc));
    for (const Tensor& top : tops) args.tops.push_back(top.data);
    kernel_->Forward(args);
    std::vector<int64_t> labels(kImages);
    Download(tops[1], labels.data());
    EXPECT_EQ(labels, batch.labels);
    const Tensor plain = New({tops[0].desc.shape, DType::kFP32, Layout()});
    device_->Convert(tops[0], plain, device_->compute_stream());
    std::vector<float> values(plain.desc.shape.count());
    Download(plain, values.data());
    return values;
  }

  void ExpectRight(const Batch& batch) { ExpectRight(batch, batch); }
  // The label values, as the net gets them.
  std::vector<float> RunValues(const Batch& batch) {
    KernelArgs args;
    args.batch = &batch;
    std::vector<Tensor> tops;
    for (const TensorDesc& desc : setup_.tops) tops.push_back(New(desc));
    for (const Tensor& top : tops) args.tops.push_back(top.data);
    kernel_->Forward(args);
    EXPECT_EQ(tops[1].desc.dtype, compute_);
    const Tensor plain = New({tops[1].desc.shape, DType::kFP32, Layout()});
    device_->Convert(tops[1], plain, device_->compute_stream());
    std::vector<float> values(plain.desc.shape.count());
    Download(plain, values.data());
    return values;
  }

  // What the definition says of `batch` where `sent` is taken in.
  void ExpectRight(const Batch& batch, const Batch& sent) {
    const std::vector<float> values = Run(sent);
    const Shape& own = batch.images.desc.shape;
    const auto* const bytes = batch.images.as<uint8_t>();
    // BF16 and FP16 round what is exact in FP32 here.
    const double tolerance = compute_ == DType::kFP32 ? 0 : compute_ == DType::kFP16 ? 5e-4 : 4e-3;
    size_t at = 0;
    for (int64_t n = 0; n < kImages; ++n) {
      const ImageCut cut = batch.cuts.empty() ? ImageCut() : batch.cuts[n];
      for (int64_t c = 0; c < channels_; ++c) {
        for (int64_t y = 0; y < kHeight; ++y) {
          for (int64_t x = 0; x < kWidth; ++x) {
            int64_t column = cut.left + (cut.mirrored ? kWidth - 1 - x : x);
            int64_t row = cut.top + y;
            if (cut.reflected != 0) {
              column = Reflected(column, own[3]);
              row = Reflected(row, own[2]);
            }
            float expected = 0;
            if (column >= 0 && column < own[3] && row >= 0 && row < own[2]) {
              expected = bytes[((n * own[2] + row) * own[3] + column) * channels_ + c];
            }
            if (!batch.mean.empty()) {
              expected = (expected - batch.mean[c]) * batch.inverse_std[c];
            }
            const float found = values[at++];
            ASSERT_NEAR(found, expected, tolerance * std::abs(expected))
                << n << " " << c << " " << y << " " << x;
          }
        }
      }
    }
  }

  // Every corner, and mirrored or not.
  static std::vector<ImageCut> Cuts(int32_t most_top, int32_t most_left) {
    return {{0, 0, 0},
            {most_top, most_left, 1},
            {most_top / 2, 0, 1},
            {0, most_left, 0},
            {most_top, most_left / 2, 0}};
  }

  Tensor New(const TensorDesc& desc) const {
    Tensor tensor;
    tensor.desc = desc;
    tensor.owner = device_->Allocate(desc.bytes());
    tensor.data = tensor.owner.get();
    return tensor;
  }

  std::vector<DType> Types() const {
    std::vector<DType> types;
    const auto device = DeviceRegistry::Get().Create("device", GetParam(), 1);
    for (DType type : {DType::kFP32, DType::kBF16, DType::kFP16}) {
      if (device->Supports(type)) types.push_back(type);
    }
    return types;
  }

 private:
  void Download(const Tensor& tensor, void* to) const {
    device_->CopyToHost(tensor.data, to, tensor.desc.bytes(), device_->compute_stream());
  }

  int64_t channels_ = 0;
  DType compute_ = DType::kFP32;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Layer> layer_;
  std::unique_ptr<Kernel> kernel_;
  KernelSetup setup_;
};

// A batch of images of this size in every type and some numbers of channels.
#define GF_FOR_EVERY_INPUT(type, channels) \
  for (DType type : Types())               \
    for (int64_t channels : {1, 3, 4, 5})

TEST_P(InputTest, WholeImagesAreNormalized) {
  GF_FOR_EVERY_INPUT(type, channels) {
    Build(channels, type);
    Batch batch = NewBatch(kHeight, kWidth);
    ExpectRight(batch);
    // Exact: powers of two.
    for (int64_t c = 0; c < channels; ++c) {
      batch.mean.push_back(static_cast<float>(16 * c + 8));
      batch.inverse_std.push_back(c % 2 == 0 ? 0.25f : 0.0625f);
    }
    ExpectRight(batch);
  }
}

TEST_P(InputTest, PartsAreCutMirroredAndNormalized) {
  GF_FOR_EVERY_INPUT(type, channels) {
    Build(channels, type);
    for (int64_t border : {0, 1, 6}) {
      Batch batch = NewBatch(kHeight + border, kWidth + 2 * border);
      batch.cuts = Cuts(static_cast<int32_t>(border), static_cast<int32_t>(2 * border));
      batch.mean.assign(channels, 100);
      batch.inverse_std.assign(channels, 0.5f);
      ExpectRight(batch);
    }
  }
}

// Those of a loader with a mean image.
TEST_P(InputTest, FloatsEnterUnchanged) {
  GF_FOR_EVERY_INPUT(type, channels) {
    Build(channels, type);
    // Batches of UINT8 and of FP32 alternate.
    for (int turn = 0; turn < 4; ++turn) {
      const Batch bytes = NewBatch(kHeight, kWidth);
      ExpectRight(bytes);
      const Shape shape = bytes.images.desc.shape;
      auto floats = std::make_shared<std::vector<float>>();
      for (int64_t i = 0; i < shape.count(); ++i) {
        floats->push_back(static_cast<float>(Philox(3, turn, i)[0] % 1024) * 0.25f - 128);
      }
      Batch batch;
      batch.images = {{shape, DType::kFP32, Layout()}, floats->data(), floats};
      batch.labels = bytes.labels;
      const std::vector<float> values = Run(batch);
      const double tolerance = type == DType::kFP32 ? 0 : type == DType::kFP16 ? 5e-4 : 4e-3;
      for (size_t i = 0; i < values.size(); ++i) {
        const float expected = (*floats)[i];
        ASSERT_NEAR(values[i], expected, tolerance * std::abs(expected)) << turn << " " << i;
      }
    }
  }
}

TEST_P(InputTest, BatchesOfChangingSizesFollowEachOther) {
  Build(3, DType::kFP32);
  for (int turn = 0; turn < 6; ++turn) {
    const int64_t border = turn % 3;
    Batch batch = NewBatch(kHeight + border, kWidth + border);
    if (border > 0) batch.cuts = Cuts(static_cast<int32_t>(border), static_cast<int32_t>(border));
    ExpectRight(batch);
  }
}

TEST_P(InputTest, OutsideOfTheImageAreZeros) {
  GF_FOR_EVERY_INPUT(type, channels) {
    Build(channels, type);
    Batch batch = NewBatch(kHeight - 2, kWidth - 1);
    batch.cuts = {{-1, -1, 0},
                  {-kHeight + 1, 0, 1},
                  {kHeight - 3, kWidth - 2, 0},
                  {0, -kWidth + 1, 1},
                  {-2, 3, 1}};
    ExpectRight(batch);
    batch.mean.assign(channels, 100);
    batch.inverse_std.assign(channels, 0.5f);
    ExpectRight(batch);
  }
}

TEST_P(InputTest, OutsideOfAReflectedImageIsItsMirrorImage) {
  GF_FOR_EVERY_INPUT(type, channels) {
    Build(channels, type);
    Batch batch = NewBatch(kHeight - 2, kWidth - 1);
    const auto most = [](int64_t size) { return static_cast<int32_t>(size - 1); };
    // Parts as far out as reflections reach, and one of the image itself.
    batch.cuts = {{-1, -1, 0, 1},
                  {-most(kHeight - 2), most(kWidth - 1) - 1, 1, 1},
                  {2, -most(kWidth - 1), 0, 1},
                  {0, 0, 1, 1},
                  {-2, 3, 0, 0}};
    ExpectRight(batch);
    batch.mean.assign(channels, 100);
    batch.inverse_std.assign(channels, 0.5f);
    ExpectRight(batch);
    // Larger images, of which parts are inside, partly outside and beyond.
    batch = NewBatch(3 * kHeight, 2 * kWidth);
    batch.cuts = {{2, 5, 1, 1},
                  {-kHeight - 3, -kWidth - 2, 1, 1},
                  {3 * kHeight + 1, 2 * kWidth, 0, 1},
                  {-3, 2 * kWidth - 2, 0, 1},
                  {3 * kHeight - 2, -4, 1, 1}};
    ExpectRight(batch);
  }
}

// Three batches: the first one's images 1, 2 and 4 stay, the second consists of them and of two
// others, the third has another in the place of one.
TEST_P(InputTest, ImagesStayOnTheDevice) {
  GF_FOR_EVERY_INPUT(type, channels) {
    Build(channels, type);
    Batch batch = NewBatch(kHeight + 2, kWidth + 3);
    const Shape shape = batch.images.desc.shape;
    batch.kept.images = New({{4, shape[1], shape[2], shape[3]}, DType::kUINT8, Layout()});
    batch.kept.places = {-1, 0, 1, -1, 3};
    batch.kept.there.assign(kImages, 0);
    batch.cuts = Cuts(2, 3);
    batch.mean.assign(channels, 8);
    batch.inverse_std.assign(channels, 0.5f);
    ExpectRight(batch);

    // NewBatch draws image i of any batch alike.
    batch.cuts = {{1, 1, 1}, {0, 0, 0}, {-1, 2, 0}, {2, 3, 1}, {1, 0, 0}};
    batch.kept.there = {0, 1, 1, 0, 1};
    batch.kept.places = {2, 0, 1, -1, 3};
    const auto erase = [&](const std::vector<uint8_t>& images) {
      Batch sent = batch;
      const Tensor& from = batch.images;
      auto bytes = std::make_shared<std::vector<uint8_t>>(from.as<uint8_t>(),
                                                          from.as<uint8_t>() + from.desc.bytes());
      for (int64_t n = 0; n < kImages; ++n) {
        const int64_t size = shape.count(1, 4);
        if (images[n]) std::fill_n(bytes->begin() + n * size, size, uint8_t{0xA5});
      }
      sent.images.data = bytes->data();
      sent.images.owner = bytes;
      return sent;
    };
    ExpectRight(batch, erase(batch.kept.there));
    batch.kept.there.assign(kImages, 1);
    batch.kept.places = {2, 0, 1, 3, 3};
    batch.kept.there[3] = 0;
    batch.kept.places[4] = -1;
    batch.kept.there[4] = 0;
    ExpectRight(batch, erase({1, 1, 1, 0, 0}));
    batch.kept.there = {1, 1, 1, 1, 0};
    ExpectRight(batch, erase({1, 1, 1, 1, 0}));
  }
}

TEST_P(InputTest, ImagesAreMixedInsideTheWindow) {
  GF_FOR_EVERY_INPUT(type, channels) {
    Build(channels, type);
    for (const bool cut : {false, true}) {
      Batch batch = NewBatch(kHeight + 2 * cut, kWidth + 3 * cut);
      if (cut) batch.cuts = Cuts(2, 3);
      batch.mean.assign(channels, 100);
      batch.inverse_std.assign(channels, 0.5f);
      const std::vector<float> before = Run(batch);
      const double tolerance = type == DType::kFP32 ? 1e-5 : type == DType::kFP16 ? 0.06 : 0.5;
      for (const BatchMix& mix : {BatchMix{0, 0, kHeight, kWidth, 0.3f, 0.3f},
                                  {2, 3, 4, 5, 0, 0.7f},
                                  {kHeight - 1, kWidth - 1, 1, 1, 0.25f, 1},
                                  {0, 0, 1, kWidth, 1, 1},
                                  {3, 3, 0, 2, 0, 0}}) {
        batch.mix = mix;
        const std::vector<float> after = Run(batch);
        const int64_t image = channels * kHeight * kWidth;
        for (int64_t i = 0; i < kImages * image; ++i) {
          const int64_t x = i % kWidth - mix.left, y = i / kWidth % kHeight - mix.top;
          const bool inside = x >= 0 && x < mix.width && y >= 0 && y < mix.height;
          const double share = inside ? mix.pixel_share : 1;
          const double other = before[(i + (kImages - 1) * image) % (kImages * image)];
          ASSERT_NEAR(after[i], share * before[i] + (1 - share) * other, inside ? tolerance : 0)
              << i << " " << mix.top << " " << mix.height;
        }
      }
    }
  }
}

TEST_P(InputTest, LabelValuesEnterInTheComputeType) {
  constexpr int kValues = 3;
  for (DType type : Types()) {
    Build(3, type, kValues);
    for (int turn = 0; turn < 4; ++turn) {
      Batch batch = NewBatch(kHeight, kWidth);
      for (int64_t i = 0; i < kImages * kValues; ++i) {
        batch.label_values.push_back(static_cast<float>(Philox(5, turn, i)[0] % 2048) * 0.01f - 9);
      }
      const std::vector<float> values = RunValues(batch);
      const double tolerance = type == DType::kFP32 ? 0 : type == DType::kFP16 ? 5e-4 : 4e-3;
      ASSERT_EQ(values.size(), batch.label_values.size());
      for (size_t i = 0; i < values.size(); ++i) {
        const float expected = batch.label_values[i];
        EXPECT_NEAR(values[i], expected, tolerance * std::abs(expected)) << turn << " " << i;
      }
    }
    // A batch of images alone, as for predictions.
    EXPECT_EQ(RunValues(NewBatch(kHeight, kWidth)), std::vector<float>(kImages * kValues));
  }
}

TEST_P(InputTest, MismatchesAreDetected) {
  Build(3, DType::kFP32);
  const Shape input = {kImages, 3, kHeight, kWidth};
  Batch batch = NewBatch(kHeight + 1, kWidth + 2);
  EXPECT_FALSE(batch.Fits(input));
  batch.cuts = Cuts(1, 2);
  EXPECT_TRUE(batch.Fits(input));
  for (const ImageCut& bad :
       {ImageCut{kHeight + 1, 0, 0}, {-kHeight, 0, 0}, {0, kWidth + 2, 0}, {0, -kWidth, 1}}) {
    batch.cuts[3] = bad;
    EXPECT_FALSE(batch.Fits(input));
  }
  // As far as reflections reach, and no further.
  for (const ImageCut& good :
       {ImageCut{-kHeight, -kWidth - 1, 0, 1}, {kHeight + 1, kWidth + 3, 1, 1}}) {
    batch.cuts[3] = good;
    EXPECT_TRUE(batch.Fits(input));
  }
  for (const ImageCut& bad : {ImageCut{-kHeight - 1, 0, 0, 1},
                              {kHeight + 2, 0, 0, 1},
                              {0, -kWidth - 2, 0, 1},
                              {0, kWidth + 4, 0, 1}}) {
    batch.cuts[3] = bad;
    EXPECT_FALSE(batch.Fits(input));
  }
  batch.cuts = Cuts(1, 2);
  batch.kept.images = New({{2, 3, kHeight + 1, kWidth + 2}, DType::kUINT8, Layout()});
  EXPECT_FALSE(batch.Fits(input));
  batch.kept.there.assign(kImages, 0);
  batch.kept.places.assign(kImages, -1);
  EXPECT_TRUE(batch.Fits(input));
  batch.kept.places[1] = 2;
  EXPECT_FALSE(batch.Fits(input));
  batch.kept.places[1] = -1;
  batch.kept.there[1] = 1;
  EXPECT_FALSE(batch.Fits(input));
  batch.kept.places[1] = 1;
  EXPECT_TRUE(batch.Fits(input));
  batch.kept.images = New({{2, 3, kHeight, kWidth + 2}, DType::kUINT8, Layout()});
  EXPECT_FALSE(batch.Fits(input));
  batch.kept = {};
  batch.cuts = Cuts(1, 2);
  batch.cuts.pop_back();
  EXPECT_FALSE(batch.Fits(input));
}

GF_FOR_EVERY_DEVICE(InputTest);

}  // namespace
}  // namespace gf
