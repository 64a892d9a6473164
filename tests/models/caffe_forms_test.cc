// Forms in which Caffe's users write a layer that has another form here.

#include <gtest/gtest.h>

#include "tests/models/caffe_nets_for_test.h"

namespace gf {
namespace {

TEST(CaffeIdiomsTest, BatchNormWithThreeFrozenParamsAndAScaleIsOneBatchNorm) {
  const std::string text = Head(std::string(kConvolution) + R"(
    layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "bn"
            param { lr_mult: 0 } param { lr_mult: 0 } param { lr_mult: 0 } }
    layer { name: "scale" type: "Scale" bottom: "bn" top: "bn"
            scale_param { bias_term: true } }
    layer { name: "relu" type: "ReLU" bottom: "bn" top: "top" })");
  const auto train = Compute(text, TRAIN);
  EXPECT_EQ(PoolNames(*train), "fc.weight fc.bias bn.weight bn.bias conv.weight ");
  for (const PoolEntry& entry : train->parameters()->layout().entries()) {
    EXPECT_EQ(entry.lr_mult, 1) << entry.name;
  }
  EXPECT_EQ(train->parameters()->state_layout().entries().size(), 2u);
  EXPECT_EQ(Parameters(*train).at("bn.weight"), std::vector<float>(8, 1.f));
  Compute(text, TEST);
}

TEST(CaffeIdiomsTest, BatchNormPerPhaseWithGlobalStatisticsSharesItsName) {
  const std::string text = Head(std::string(kConvolution) + R"(
    layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "bn" include { phase: TRAIN }
            batch_norm_param { use_global_stats: false } }
    layer { name: "bn" type: "BatchNorm" bottom: "conv" top: "bn" include { phase: TEST }
            batch_norm_param { use_global_stats: true } }
    layer { name: "sig" type: "Sigmoid" bottom: "bn" top: "top" })");
  const auto train = Compute(text, TRAIN);
  NetOptions options = TestOptions(TEST);
  options.parameters = train->parameters();
  const auto test = NewNet(text, options);
  EXPECT_GT(test->Forward(RandomBatch(test->input_shape(), 5)).Value(), 0);
}

// The same net in two forms, between an input of 2 x 4 x 5 x 5 and a loss, has the same parameters,
// loss and gradients.
void ExpectSame(const std::string& form, const std::string& other) {
  const auto net = [](const std::string& layers) {
    return NewNet(R"(
      layer { name: "data" type: "Input" top: "data" top: "label" input_param {
              shape { dim: [2, 4, 5, 5] } shape { dim: 2 } } }
      layer { name: "conv" type: "Convolution" bottom: "data" top: "conv" convolution_param {
              num_output: 4 kernel_size: 1 weight_filler { type: "xavier" } } })" +
                  layers + R"(
      layer { name: "ip" type: "InnerProduct" bottom: "top" top: "ip" inner_product_param {
              num_output: 3 weight_filler { type: "xavier" } } }
      layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" })");
  };
  const auto first = net(form), second = net(other);
  SetRandom({}, first->parameters().get());
  SetRandom({}, second->parameters().get());
  const Batch batch = RandomBatch(first->input_shape(), 3);
  EXPECT_FLOAT_EQ(first->Forward(batch).Value(), second->Forward(batch).Value());
  first->Backward(1, nullptr);
  second->Backward(1, nullptr);
  EXPECT_EQ(PoolNames(*first), PoolNames(*second));
  const Values gradients = Gradients(*second);
  for (const auto& [name, values] : Gradients(*first)) {
    EXPECT_LT(RelativeError(values, gradients.at(name)), 1e-6) << name;
  }
}

TEST(CaffeIdiomsTest, DepthwiseConvolutionsHaveAGroupPerChannel) {
  const auto layer = [](const std::string& type, const std::string& group) {
    return "layer { name: 'depthwise' type: '" + type + "' bottom: 'conv' top: 'top' " +
           "convolution_param { num_output: 4 kernel_size: 3 pad_h: 1 " + group + " } }";
  };
  for (const char* type : {"ConvolutionDepthwise", "DepthwiseConvolution"}) {
    ExpectSame(layer(type, ""), layer("Convolution", "group: 4"));
    const std::string error = ErrorOf([&] { NewNet(layer(type, "group: 2")); });
    EXPECT_NE(error.find("convolution_param.group is 2, must be num_output (4)"), std::string::npos)
        << error;
  }
}

TEST(CaffeIdiomsTest, NvcaffesBatchNormHasItsOwnScaleAndBias) {
  ExpectSame(R"(
      layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "top" batch_norm_param {
              scale_bias: true scale_filler { value: 2 } bias_filler { value: 1 } } })",
             R"(
      layer { name: "norm" type: "BatchNorm" bottom: "conv" top: "norm" }
      layer { name: "scale" type: "Scale" bottom: "norm" top: "top" scale_param {
              bias_term: true } })");
  // A filler without scale_bias has the same effect. A Scale that follows stays a separate layer.
  const auto net = NewNet(R"(
      layer { name: "data" type: "Input" top: "data" input_param { shape { dim: [2, 4, 5, 5] } } }
      layer { name: "norm" type: "BatchNorm" bottom: "data" top: "norm" batch_norm_param {
              scale_filler { value: 2 } bias_filler { value: 1 } } }
      layer { name: "scale" type: "Scale" bottom: "norm" top: "top" })");
  EXPECT_EQ(PoolNames(*net), "scale.weight norm.weight norm.bias ");
  net->InitParameters();
  EXPECT_EQ(Parameters(*net).at("norm.weight"), std::vector<float>(4, 2));
  EXPECT_EQ(Parameters(*net).at("norm.bias"), std::vector<float>(4, 1));
}

TEST(CaffeIdiomsTest, AScaleLayerTakesItsFactorsFromASecondBottom) {
  const std::string sigmoid = R"(
      layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param {
              pool: AVE global_pooling: true } }
      layer { name: "gate" type: "Sigmoid" bottom: "pool" top: "gate" }
      layer { name: "flat" type: "Flatten" bottom: "gate" top: "flat" })";
  ExpectSame(sigmoid + R"(
      layer { name: "x" type: "Scale" bottom: "conv" bottom: "flat" top: "x" scale_param {
              axis: 0 } }
      layer { name: "sum" type: "Eltwise" bottom: "x" bottom: "conv" top: "top" })",
             sigmoid + R"(
      layer { name: "sum" type: "Axpy" bottom: "gate" bottom: "conv" bottom: "conv"
              top: "top" })");
  const std::string error = ErrorOf([] {
    NewNet(
        "layer { name: 's' type: 'Scale' bottom: 'x' bottom: 'y' top: 's' "
        "scale_param { bias_term: true } }");
  });
  EXPECT_NE(error.find("bias_term is not supported with two bottoms; remove it"), std::string::npos)
      << error;
}

TEST(CaffeIdiomsTest, ABiasLayerTakesItsTermsFromASecondBottom) {
  const std::string pool = R"(
      layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param {
              pool: AVE global_pooling: true } })";
  ExpectSame(pool + R"(
      layer { name: "flat" type: "Flatten" bottom: "pool" top: "flat" }
      layer { name: "sum" type: "Bias" bottom: "conv" bottom: "flat" top: "top" bias_param {
              axis: 0 } })",
             pool + R"(
      layer { name: "rows" type: "Tile" bottom: "pool" top: "rows" tile_param {
              axis: 2 tiles: 5 } }
      layer { name: "image" type: "Tile" bottom: "rows" top: "image" tile_param {
              axis: 3 tiles: 5 } }
      layer { name: "sum" type: "Eltwise" bottom: "conv" bottom: "image" top: "top" })");
}

TEST(CaffeIdiomsTest, ABlobMayBeSilencedAndUsed) {
  const std::string relu = R"(
      layer { name: "relu" type: "ReLU" bottom: "conv" top: "top" })";
  ExpectSame(relu + "layer { name: 'hush' type: 'Silence' bottom: 'conv' bottom: 'label' }", relu);
}

}  // namespace
}  // namespace gf
