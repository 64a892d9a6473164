// Nets that ask for too much: of memory, of time, of numbers.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <ctime>
#include <string>

#include "core/host_memory.h"
#include "tests/models/layers_for_test.h"

namespace gf {
namespace {

std::string Product(uint32_t outputs) {
  return Simple("InnerProduct", "ip", "x",
                StrCat("inner_product_param { num_output: ", outputs, " }"));
}

TEST(HostileNetTest, AParameterThatCannotFitIsNamedBeforeItIsAllocated) {
  const std::string error = Error(Product(1u << 31));
  EXPECT_TRUE(Has(error, "test.prototxt:")) << error;
  EXPECT_TRUE(Has(error, "layer \"ip\" (InnerProduct): its weight ")) << error;
  EXPECT_TRUE(Has(error, "but this process can have ")) << error;
  EXPECT_TRUE(Has(error, " GB: make the layer smaller")) << error;
  const std::string larger = Error(Product(UINT32_MAX));
  EXPECT_TRUE(Has(larger, "layer \"ip\" (InnerProduct): its weight ")) << larger;
}

TEST(HostileNetTest, ABlobThatCannotFitIsNamed) {
  const std::string input =
      "layer { name: 'data' type: 'Input' top: 'x' "
      "input_param { shape { dim: [1, 3, 400000, 400000] } } }";
  const std::string error = ErrorOf([&] { NewNet(input + Simple("ReLU", "r", "x")); });
  EXPECT_TRUE(Has(error,
                  "test.prototxt:1:1: layer \"data\" (Input): its top \"x\" of "
                  "1x3x400000x400000 takes 1.92 TB, but this process can have "))
      << error;
  EXPECT_TRUE(Has(error, "lower batch_size")) << error;
}

TEST(HostileNetTest, AllActivationsTogetherMustFit) {
  // Each blob takes 0.3 GB, and is kept for the backward pass.
  const int layers = static_cast<int>(HostMemory() / 0.3e9) + 10;
  std::string text =
      "layer { name: 'data' type: 'Input' top: 'c0' "
      "input_param { shape { dim: [1, 3, 5000, 5000] } } }";
  for (int i = 0; i < layers; ++i) {
    text += StrCat("layer { name: 'c", i + 1, "' type: 'Convolution' bottom: 'c", i, "' top: 'c",
                   i + 1, "' convolution_param { num_output: 3 kernel_size: 1 } }");
  }
  text += "layer { name: 'label' type: 'Input' top: 'y' input_param { shape { dim: 1 } } }" +
          StrCat("layer { name: 'p' type: 'Convolution' bottom: 'c", layers,
                 "' top: 'p' convolution_param { num_output: 3 kernel_size: 1 stride: 5000 } }"
                 "layer { name: 'l' type: 'SoftmaxWithLoss' bottom: 'p' bottom: 'y' top: 'l' }");
  const std::string error = ErrorOf([&] { NewNet(text); });
  EXPECT_TRUE(Has(error, "all activations of the net take ")) << error;
  EXPECT_TRUE(Has(error, "lower batch_size, set recompute: true")) << error;
}

// Processor time of all threads: other programs do not count.
double SecondsToCompile(const std::string& text, Phase phase) {
  const std::clock_t start = std::clock();
  NewNet(text, TestOptions(phase));
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

constexpr int kLayers = 19000;
constexpr double kEnough = 15;
constexpr char kImage[] =
    "layer { name: 'data' type: 'Input' top: 'b0' "
    "input_param { shape { dim: [1, 3, 2, 2] } } }\n";

// Layer i of a chain of layers of one type.
std::string Link(const std::string& type, int i) {
  return StrCat("layer { name: 'n", i, "' type: '", type, "' bottom: 'b", i, "' top: 'b", i + 1,
                "' }\n");
}

TEST(HostileNetTest, ChainsTakeTimeInProportionToTheirLength) {
  std::string forward = kImage, backward, dropped = kImage, one_name = kImage;
  for (int i = 0; i < kLayers; ++i) forward += Link("ReLU", i);
  for (int i = kLayers; i-- > 0;) backward += Link("ReLU", i);
  for (int i = 0; i < kLayers; ++i) dropped += Link("Dropout", i);
  for (int i = 0; i < kLayers; ++i) {
    one_name += StrCat("layer { name: 'n' type: 'ReLU' bottom: 'b", i, "' top: 'b", i + 1, "' }\n");
  }
  EXPECT_LT(SecondsToCompile(forward, TRAIN), kEnough);
  EXPECT_LT(SecondsToCompile(one_name, TRAIN), kEnough);
  EXPECT_LT(SecondsToCompile(backward + kImage, TRAIN), kEnough);
  EXPECT_LT(SecondsToCompile(dropped + Link("ReLU", kLayers), TEST), kEnough);
}

TEST(HostileNetTest, TooManyLayersAreRefused) {
  std::string text = kImage;
  for (int i = 0; i < 20000; ++i) text += Link("ReLU", i);
  EXPECT_EQ(ErrorOf([&] { NewNet(text); }),
            "test.prototxt: has 20001 layers, expected at most 20000");
}

TEST(HostileNetTest, EveryNumberOfANetIsFinite) {
  const auto error = [](const std::string& layer) {
    return ErrorOf([&] { ParseNet("\n" + layer, "test.prototxt"); });
  };
  EXPECT_EQ(error("layer { convolution_param { weight_filler { std: nan } } }"),
            "test.prototxt:2:45: layer[0].convolution_param.weight_filler.std is nan, must be a "
            "finite number");
  for (const char* value : {"nan", "inf", "-inf", "1e39", "-1e39"}) {
    EXPECT_TRUE(Has(error(StrCat("layer { loss_weight: ", value, " }")), "layer[0].loss_weight"));
  }
  EXPECT_EQ(error("layer { loss_weight: 1e38 }"), "(no error)");
}

TEST(HostileNetTest, AFifoIsNotWaitedFor) {
  const std::string path = testing::TempDir() + "/net_fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_TRUE(Has(ErrorOf([&] { ReadNet(path); }), "net_fifo: not a regular file"));
}

TEST(HostileNetTest, AMistakeInAMergedScaleNamesTheScale) {
  const std::string error =
      Error(Simple("Convolution", "c", "x", "convolution_param { num_output: 2 kernel_size: 1 }") +
            Simple("BatchNorm", "bn", "c") +
            Simple("Scale", "sc", "bn", "scale_param { filler { type: 'constnt' } }"));
  EXPECT_TRUE(Has(error, "layer \"sc\" (Scale): weight: unknown filler type \"constnt\"")) << error;
}

}  // namespace
}  // namespace gf
