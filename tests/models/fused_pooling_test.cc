// A batch norm and the max pooling of its result, computed together: on GPUs.

#include <gtest/gtest.h>

#include <string>

#include "core/group_sum.h"
#include "tests/models/fused_norms_for_test.h"

namespace gf {
namespace {

// The stem of a ResNet. The windows reach over the borders of images of 8 x 8.
std::string Text(int channels, const std::string& window, bool relu = true, bool scale = true,
                 const std::string& inputs = kInputs) {
  const std::string norm = scale ? "ns" : "n", result = relu ? "r" : norm;
  std::string text =
      inputs + Plain("c", "x", channels, "kernel_size: 3 pad: 1") + Norm("n", "c", scale);
  if (relu) text += Simple("ReLU", "r", norm);
  return text + Simple("Pooling", "p", result, StrCat("pooling_param { pool: MAX ", window, " }")) +
         Plain("c2", "p", 8, "kernel_size: 1") + Inner("scores", "c2", 5) + Loss("loss", "scores");
}

constexpr char kOfResNet[] = "kernel_size: 3 stride: 2 pad: 1";

bool IsFused(const Net& net) { return HasType(net, "_BatchNormPooling"); }

class FusedPoolingTest : public FusedNormsTest {
 protected:
  void SetUp() override { NeedKernel("_BatchNormPooling"); }
};

TEST_P(FusedPoolingTest, ChangesResultsByRoundingOnly) {
  for (const char* window :
       {kOfResNet, "kernel_size: 3 stride: 2 pad: 1 round_mode: FLOOR", "kernel_size: 3 stride: 2",
        "kernel_size: 2 stride: 2", "kernel_size: 2 stride: 2 pad: 1"}) {
    SCOPED_TRACE(window);
    ExpectSameSteps(Text(channels(), window), "_BatchNormPooling");
  }
  for (const bool relu : {true, false}) {
    for (const bool scale : {true, false}) {
      SCOPED_TRACE(StrCat("relu ", relu, ", scale ", scale));
      ExpectSameSteps(Text(channels(), kOfResNet, relu, scale), "_BatchNormPooling");
    }
  }
}

// Sides that differ, odd ones, a block of inputs before the image, and more channels than a block
// of threads has.
TEST_P(FusedPoolingTest, ImagesOfAllShapes) {
  for (const char* size : {"3, 9, 6", "3, 6, 9", "3, 7, 5", "3, 3, 12"}) {
    const std::string inputs = StrCat(
        "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: [5, ", size,
        "] } } } layer { name: 'y' type: 'Input' top: 'y' input_param { shape { dim: 5 } } }");
    for (const char* window : {kOfResNet, "kernel_size: 3 stride: 2 pad: 2"}) {
      SCOPED_TRACE(StrCat(size, ", ", window));
      ExpectSameSteps(Text(channels(), window, true, true, inputs), "_BatchNormPooling");
    }
  }
  ExpectSameSteps(Text(264 + channels(), kOfResNet), "_BatchNormPooling");
}

// Rows of inputs of more than a window of a kernel's rows.
TEST_P(FusedPoolingTest, ImagesOfManyRows) {
  const std::string inputs =
      "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: [24, 3, 40, 36] } } }"
      "layer { name: 'y' type: 'Input' top: 'y' input_param { shape { dim: 24 } } }";
  ExpectSameSteps(Text(channels(), kOfResNet, true, true, inputs), "_BatchNormPooling");
}

TEST_P(FusedPoolingTest, FrozenParameters) {
  for (const char* freeze : {"c.*", "n.*", "n.weight", "c2.*"}) {
    SCOPED_TRACE(freeze);
    ExpectSameSteps(Text(channels(), kOfResNet), "_BatchNormPooling", {freeze});
  }
}

TEST_P(FusedPoolingTest, RepeatsToTheBit) { ExpectRepeats(Text(channels(), kOfResNet)); }

TEST_P(FusedPoolingTest, WhatDoesNotFitStaysTwoLayers) {
  for (const char* window :
       {"kernel_size: 3 stride: 1 pad: 1", "kernel_size: 4 stride: 2", "global_pooling: true",
        "kernel_h: 3 kernel_w: 2 stride: 2", "kernel_size: 3 stride_h: 2 stride_w: 1"}) {
    EXPECT_FALSE(IsFused(*NewNet(Text(channels(), window), Options()))) << window;
  }
  EXPECT_FALSE(IsFused(*NewNet(Text(12, kOfResNet), Options())));
  NetOptions options = Options();
  EXPECT_TRUE(IsFused(*NewNet(Text(channels(), kOfResNet), options)));
  options.phase = TEST;
  EXPECT_FALSE(IsFused(*NewNet(Text(channels(), kOfResNet), options)));
  options = Options();
  options.freeze = {"c.*", "n.*"};
  EXPECT_FALSE(IsFused(*NewNet(Text(channels(), kOfResNet), options)))
      << "it uses running statistics";
  std::string average = Text(channels(), kOfResNet);
  average.replace(average.find("MAX"), 3, "AVE");
  EXPECT_FALSE(IsFused(*NewNet(average, Options())));
}

class NoGroup : public GroupSum {
 public:
  int size() const override { return 2; }
  void Sum(double*, int64_t) override {}
};

TEST_P(FusedPoolingTest, MistakesNameTheLayersOfTheFile) {
  const auto error = [&](const std::string& text, const NetOptions& options) {
    return ErrorOf([&] { NewNet(text, options); });
  };
  std::string text = Text(channels(), "kernel_size: 2 stride: 2 pad: 2");
  EXPECT_TRUE(Has(error(text, Options()),
                  "layer \"p\" (Pooling): pad (2) must be smaller than kernel_size (2)"));
  text = Text(channels(), kOfResNet);
  text.insert(text.find("type: 'BatchNorm'"), "batch_norm_param { eps: 0 } ");
  EXPECT_TRUE(Has(error(text, Options()), "layer \"n\" (BatchNorm): eps must be positive"));
  text = Text(channels(), "kernel_size: 3 stride: 2");
  text.replace(text.find("8, 8"), 4, "8, 2");
  EXPECT_TRUE(Has(error(text, Options()),
                  "layer \"n\" (BatchNorm): the max pooling of its result would be empty: width 2"))
      << error(text, Options());
  NoGroup group;
  NetOptions options = Options();
  options.batch_norm_group = &group;
  EXPECT_TRUE(Has(error(Text(channels(), kOfResNet), options),
                  "layer \"n\" (BatchNorm): ranks cannot share statistics on device \"cuda\""));
}

INSTANTIATE_TEST_SUITE_P(Types, FusedPoolingTest, FusedNormsTest::Cases(8, 24),
                         FusedNormsTest::NameOf);

}  // namespace
}  // namespace gf
