// Means over moved and mirrored images, against the net's outputs for images that the test moves
// and mirrors itself.
#include "solvers/evaluate/evaluator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "comm/local/communicator.h"
#include "core/config/config.h"
#include "core/device.h"
#include "solvers/evaluate/class_tally.h"
#include "tests/data/pixel_util.h"
#include "tests/data/test_util.h"

namespace gf {
namespace {

constexpr ImageSize kSize = {8, 10};
constexpr int kImages = 7, kChannels = 3, kBatch = 3, kClasses = 5;

constexpr char kNet[] = R"(
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: [3, 3, 8, 10] } } }
layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 3 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
        convolution_param { num_output: 6 kernel_size: 3 weight_filler { type: "msra" } } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "ip" type: "InnerProduct" bottom: "conv" top: "ip"
        inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
)";

using Outputs = std::vector<double>;

// a * x + b * y
Outputs Combine(double a, const Outputs& x, double b, const Outputs& y) {
  Outputs sum;
  for (size_t i = 0; i < x.size(); ++i) sum.push_back(a * x[i] + b * y[i]);
  return sum;
}

class EvaluatorTest : public testing::Test {
 protected:
  EvaluatorTest() : device_(DeviceRegistry::Get().Create("device", "cpu", 2)) {
    NetOptions options;
    options.phase = TEST;
    net_ = std::make_unique<Net>(ParseNet(kNet, "test.prototxt"), options, device_.get());
    net_->InitParameters();
  }

  // Writes images of this type and sets the fields for them.
  template <typename T>
  void Write(DataConfig::PixelType type, float most) {
    TarWriter tar(folder_ / "a.tar");
    for (int i = 0; i < kImages; ++i) {
      const auto png = EncodePng(NoisePixels<T>(kSize, kChannels, most, i).data(), kSize,
                                 {kTypeOf<T>, kChannels});
      tar.Add(StrCat("s", i, ".png"), png.data(), png.size());
      const std::string label = std::to_string(Label(i));
      tar.Add(StrCat("s", i, ".cls"), label.data(), label.size());
    }
    tar.Close();
    config_.set_source(folder_ / "a.tar");
    config_.set_batch_size(kBatch);
    config_.set_workers(2);
    config_.set_pixel_type(type);
    config_.clear_mean();
    config_.clear_std();
    config_.add_mean(most / 2);
    config_.add_std(most / 4);
  }

  static int Label(int image) { return image % kClasses; }

  // The net's outputs for an image moved down and to the right by `shift` and then mirrored or not.
  template <typename T>
  Outputs OutputsOf(int image, int shift, bool mirrored) {
    const std::vector<T> pixels =
        NoisePixels<T>(kSize, kChannels, 2 * double{config_.mean(0)}, image);
    const Shape shape = {kBatch, kChannels, kSize.height, kSize.width};
    const auto values = std::make_shared<std::vector<float>>(shape.count());
    size_t at = 0;
    for (int c = 0; c < kChannels; ++c) {
      for (int y = 0; y < kSize.height; ++y) {
        for (int x = 0; x < kSize.width; ++x) {
          const int column = (mirrored ? kSize.width - 1 - x : x) - shift;
          const int from =
              Reflected(y - shift, kSize.height) * kSize.width + Reflected(column, kSize.width);
          const auto pixel = static_cast<float>(pixels[from * kChannels + c]);
          (*values)[at++] = (pixel - config_.mean(0)) / config_.std(0);
        }
      }
    }
    Batch batch;
    batch.images = {{shape, DType::kFP32, Layout()}, values->data(), values};
    batch.labels.assign(kBatch, 0);
    net_->Forward(batch);
    const std::vector<float> logits = net_->Logits();
    return {logits.begin(), logits.begin() + kClasses};
  }

  template <typename T>
  Outputs OutputsAt(int image, int shift) {
    const Outputs plain = OutputsOf<T>(image, shift, false);
    if (!config_.test_flips()) return plain;
    return Combine(0.5, plain, 0.5, OutputsOf<T>(image, shift, true));
  }

  // Evaluates, checks the result against the definition and returns the loss.
  template <typename T>
  double ExpectRight(bool flips, int shift) {
    config_.set_test_flips(flips);
    config_.set_test_shifts(shift);
    double loss = 0;
    int right = 0;
    std::vector<int64_t> taken_for;
    for (int i = 0; i < kImages; ++i) {
      Outputs outputs = OutputsAt<T>(i, 0);
      if (shift > 0) {
        const Outputs moved = Combine(0.5, OutputsAt<T>(i, -shift), 0.5, OutputsAt<T>(i, shift));
        outputs = Combine(0.5, outputs, 0.5, moved);
      }
      double sum = 0;
      for (const double output : outputs) sum += std::exp(output);
      loss += (std::log(sum) - outputs[Label(i)]) / kImages;
      taken_for.push_back(std::max_element(outputs.begin(), outputs.end()) - outputs.begin());
      right += taken_for.back() == Label(i) ? 1 : 0;
    }
    RunLocal(1, 60, [&](Communicator* comm) {
      LoaderOptions options;
      options.mode = LoaderOptions::kEvaluate;
      Loader loader(config_, options);
      Predictions predictions(kImages);
      const auto tally = Evaluate(net_.get(), &loader, comm, nullptr, &predictions);
      EXPECT_EQ(tally->images(), kImages);
      EXPECT_NEAR(tally->loss(), loss, 1e-5) << flips << " " << shift;
      EXPECT_NEAR(dynamic_cast<const ClassTally&>(*tally).top1() * kImages, right, 1e-9);
      for (int i = 0; i < kImages; ++i) EXPECT_EQ(predictions.of(i), taken_for[i]) << i;
    });
    return loss;
  }

  template <typename T>
  void ExpectAllRight() {
    const double plain = ExpectRight<T>(false, 0), flipped = ExpectRight<T>(true, 0);
    EXPECT_GT(std::abs(flipped - plain), 1e-3);
    for (const bool flips : {false, true}) {
      for (const int shift : {1, 3, 7}) {
        EXPECT_GT(std::abs(ExpectRight<T>(flips, shift) - (flips ? flipped : plain)), 1e-3);
      }
    }
  }

  const TempFolder folder_;
  const std::unique_ptr<Device> device_;
  std::unique_ptr<Net> net_;
  DataConfig config_;
};

// The device moves and mirrors these.
TEST_F(EvaluatorTest, OutputsOfBytesAreMeansOverMovedAndMirroredImages) {
  Write<uint8_t>(DataConfig::UINT8, 255);
  ExpectAllRight<uint8_t>();
}

// Batches of floats.
TEST_F(EvaluatorTest, OutputsOfWordsAreMeansOverMovedAndMirroredImages) {
  Write<uint16_t>(DataConfig::UINT16, 65535);
  ExpectAllRight<uint16_t>();
}

}  // namespace
}  // namespace gf
