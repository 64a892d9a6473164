// Nets written the way Caffe's users write them.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/models/layers_for_test.h"

namespace gf {
namespace {

std::string PoolNames(const Net& net) {
  std::string names;
  for (const PoolEntry& entry : net.parameters()->layout().entries()) names += entry.name + " ";
  return names;
}

// Builds for a phase, runs forward and, in phase TRAIN, backward; returns the net.
std::unique_ptr<Net> Compute(const std::string& text, Phase phase, const Shape& image = Shape()) {
  NetOptions options = TestOptions(phase);
  options.image_shape = image;
  auto net = NewNet(text, options);
  net->InitParameters();
  const float loss = net->Forward(RandomBatch(net->input_shape(), net->classes())).Value();
  if (phase == TRAIN) {
    EXPECT_GT(loss, 0);
    net->Backward(1, nullptr);
    for (const auto& entry : Gradients(*net)) EXPECT_GT(Norm({entry}), 0) << entry.first;
  }
  return net;
}

constexpr char kTrainVal[] = R"(
name: "TrainVal"
layer {
  name: "mnist" type: "Data" top: "data" top: "label"
  include { phase: TRAIN }
  transform_param { scale: 0.00390625 mirror: true mean_file: "mean.binaryproto" }
  data_param { source: "train_lmdb" batch_size: 8 backend: LMDB }
}
layer {
  name: "mnist" type: "Data" top: "data" top: "label"
  include { phase: TEST }
  transform_param { scale: 0.00390625 }
  data_param { source: "test_lmdb" batch_size: 5 backend: LMDB }
}
layer {
  name: "conv1" type: "Convolution" bottom: "data" top: "conv1"
  param { lr_mult: 1 } param { lr_mult: 2 decay_mult: 0 }
  convolution_param {
    num_output: 6 pad: 2 kernel_size: 5 stride: 1 engine: CAFFE
    weight_filler { type: "gaussian" std: 0.1 } bias_filler { type: "constant" value: 0.1 }
  }
}
layer { name: "relu1" type: "ReLU" bottom: "conv1" top: "conv1" }
layer {
  name: "norm1" type: "LRN" bottom: "conv1" top: "norm1"
  lrn_param { local_size: 3 alpha: 5e-05 beta: 0.75 norm_region: WITHIN_CHANNEL }
}
layer {
  name: "pool1" type: "Pooling" bottom: "norm1" top: "pool1"
  pooling_param { pool: AVE kernel_size: 3 stride: 2 }
}
layer {
  name: "ip" type: "InnerProduct" bottom: "pool1" top: "ip"
  param { lr_mult: 1 decay_mult: 250 } param { lr_mult: 2 decay_mult: 0 }
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } }
}
layer {
  name: "accuracy" type: "Accuracy" bottom: "ip" bottom: "label" top: "accuracy"
  include { phase: TEST }
}
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
)";

TEST(CaffeIdiomsTest, ATrainValNetBuildsInBothPhasesWithoutCropSize) {
  const auto train = Compute(kTrainVal, TRAIN, Shape{1, 20, 20});
  EXPECT_EQ(train->input_shape(), (Shape{8, 1, 20, 20}));
  EXPECT_EQ(PoolNames(*train), "ip.weight ip.bias conv1.weight conv1.bias ");
  const auto& layout = train->parameters()->layout();
  EXPECT_EQ(layout.entries()[0].decay_mult, 250);
  EXPECT_EQ(layout.entries()[3].lr_mult, 2);
  EXPECT_EQ(layout.entries()[3].decay_mult, 0);
  ASSERT_EQ(train->Scalars().size(), 1u);
  const auto test = Compute(kTrainVal, TEST, Shape{1, 20, 20});
  EXPECT_EQ(test->input_shape(), (Shape{5, 1, 20, 20}));
  ASSERT_EQ(test->Scalars().size(), 2u);
  EXPECT_EQ(test->Scalars()[0].first, "accuracy");
}

TEST(CaffeIdiomsTest, AnOldDeployNetTakesItsInputAtTheTop) {
  const std::string layers = R"(
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
            inner_product_param { num_output: 4 weight_filler { type: "xavier" } } }
    layer { name: "drop" type: "Dropout" bottom: "ip" top: "ip"
            dropout_param { dropout_ratio: 0.5 } }
    layer { name: "prob" type: "Softmax" bottom: "ip" top: "prob" })";
  for (const char* input : {"input: 'data' input_dim: 2 input_dim: 3 input_dim: 5 input_dim: 5",
                            "input: 'data' input_shape { dim: 2 dim: 3 dim: 5 dim: 5 }",
                            "layer { name: 'data' type: 'Input' top: 'data' "
                            "input_param { shape: { dim: 2 dim: 3 dim: 5 dim: 5 } } }"}) {
    const auto net = Compute(input + layers, TEST);
    EXPECT_EQ(net->classes(), 4);
    const auto prob = net->Blob("prob");
    ASSERT_EQ(prob.size(), 8u);
    EXPECT_NEAR(prob[0] + prob[1] + prob[2] + prob[3], 1, 1e-5);
    EXPECT_EQ(net->Logits(), net->Blob("ip"));
  }
}

std::string Head(const std::string& layers) {
  return R"(
    layer { name: "data" type: "Input" top: "data" input_param { shape { dim: [6, 3, 9, 9] } } }
    layer { name: "label" type: "Input" top: "label" input_param { shape { dim: 6 } } })" +
         layers + R"(
    layer { name: "fc" type: "InnerProduct" bottom: "top" top: "fc"
            inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "fc" bottom: "label" top: "loss" })";
}

constexpr char kConvolution[] =
    "layer { name: 'conv' type: 'Convolution' bottom: 'data' top: 'conv' convolution_param "
    "{ num_output: 8 kernel_size: 3 bias_term: false weight_filler { type: 'msra' } } }";

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

TEST(CaffeIdiomsTest, BranchesOfAnInceptionModuleAreConcatenated) {
  const std::string text = Head(R"(
    layer { name: "a" type: "Convolution" bottom: "data" top: "a" convolution_param
            { num_output: 4 kernel_size: 1 weight_filler { type: "xavier" } } }
    layer { name: "a_relu" type: "ReLU" bottom: "a" top: "a" }
    layer { name: "b" type: "Convolution" bottom: "data" top: "b" convolution_param
            { num_output: 8 kernel_size: 3 pad: 1 weight_filler { type: "xavier" } } }
    layer { name: "b_relu" type: "ReLU" bottom: "b" top: "b" }
    layer { name: "pool" type: "Pooling" bottom: "data" top: "pool"
            pooling_param { pool: MAX kernel_size: 3 stride: 1 pad: 1 } }
    layer { name: "top" type: "Concat" bottom: "a" bottom: "b" bottom: "pool" top: "top" })");
  const auto net = Compute(text, TRAIN);
  Compute(text, TEST);
}

TEST(CaffeIdiomsTest, AuxiliaryLossesAndAccuraciesHaveTheirWeightsAndNames) {
  const std::string text = Head(R"(
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "top" inner_product_param
            { num_output: 12 weight_filler { type: "xavier" } } }
    layer { name: "aux" type: "InnerProduct" bottom: "top" top: "aux" inner_product_param
            { num_output: 5 weight_filler { type: "xavier" } } }
    layer { name: "loss1" type: "SoftmaxWithLoss" bottom: "aux" bottom: "label" top: "loss1/loss"
            loss_weight: 0.3 }
    layer { name: "top-5" type: "Accuracy" bottom: "aux" bottom: "label" top: "loss1/top-5"
            include { phase: TEST } accuracy_param { top_k: 5 } })");
  const auto train = Compute(text, TRAIN);
  ASSERT_EQ(train->Scalars().size(), 2u);
  const float loss = train->Forward(RandomBatch(train->input_shape(), 5)).Value();
  EXPECT_EQ(train->Scalars()[0].first, "loss1/loss");
  EXPECT_NEAR(loss, 0.3f * train->Scalars()[0].second + train->Scalars()[1].second, 1e-5);
  EXPECT_EQ(train->Logits(), train->Blob("fc"));
  const auto test = Compute(text, TEST);
  ASSERT_EQ(test->Scalars().size(), 3u);
  EXPECT_EQ(test->Scalars()[1].second, 1) << "top-5 of 5 classes";
}

TEST(CaffeIdiomsTest, SeveralTopsSplitsAndSilencedBlobsWork) {
  const std::string text = Head(R"(
    layer { name: "hush" type: "Silence" bottom: "label" bottom: "data" }
    layer { name: "split" type: "Split" bottom: "data" top: "one" top: "two" top: "three" }
    layer { name: "ip1" type: "InnerProduct" bottom: "one" top: "ip1" inner_product_param
            { num_output: 5 weight_filler { type: "xavier" } } }
    layer { name: "hush2" type: "Silence" bottom: "two" }
    layer { name: "ip3" type: "InnerProduct" bottom: "three" top: "ip3" inner_product_param
            { num_output: 5 weight_filler { type: "xavier" } } }
    layer { name: "sum" type: "Eltwise" bottom: "ip1" bottom: "ip3" top: "top"
            eltwise_param { operation: SUM coeff: 1 coeff: -0.5 } }
    layer { name: "out" type: "SoftmaxWithLoss" bottom: "top" bottom: "label" top: "loss2"
            top: "prob" loss_weight: 1 loss_weight: 0 })");
  const auto train = Compute(text, TRAIN);
  EXPECT_EQ(train->Blob("prob").size(), 30u);
  Compute(text, TEST);
}

TEST(CaffeIdiomsTest, FlattenReshapeAndDropoutInPlaceWork) {
  const std::string text = Head(std::string(kConvolution) + R"(
    layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv"
            relu_param { negative_slope: 0.1 } }
    layer { name: "drop" type: "Dropout" bottom: "conv" top: "conv" }
    layer { name: "flat" type: "Flatten" bottom: "conv" top: "flat" }
    layer { name: "shape" type: "Reshape" bottom: "flat" top: "top"
            reshape_param { shape { dim: 0 dim: 8 dim: -1 dim: 7 } } })");
  Compute(text, TRAIN);
  Compute(text, TEST);
}

TEST(CaffeIdiomsTest, ImageDataLayersAreFedByTheJob) {
  const std::string text = R"(
    layer { name: "data" type: "ImageData" top: "data" top: "label"
            transform_param { mirror: true crop_size: 8 mean_value: 104 mean_value: 117 }
            image_data_param { source: "list.txt" batch_size: 3 new_height: 10 new_width: 10 } }
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip" inner_product_param
            { num_output: 5 weight_filler { type: "xavier" } } }
    layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" })";
  NetOptions options = TestOptions();
  EXPECT_EQ(NewNet(text, options)->input_shape(), (Shape{3, 3, 8, 8}));
}

TEST(CaffeIdiomsTest, OtherDataLayersAreFedByTheJobToo) {
  for (const char* data :
       {"type: 'DummyData' dummy_data_param { data_filler { type: 'gaussian' } "
        "data_filler { type: 'constant' } shape { dim: [4, 3, 8, 8] } shape { dim: 4 } }",
        "type: 'DummyData' dummy_data_param { num: 4 channels: [3, 1] height: [8, 1] "
        "width: [8, 1] }",
        "type: 'HDF5Data' hdf5_data_param { source: 'list.txt' batch_size: 4 shuffle: true }",
        "type: 'MemoryData' memory_data_param { batch_size: 4 channels: 3 height: 8 width: 8 }",
        "type: 'WindowData' transform_param { mirror: true crop_size: 8 } window_data_param { "
        "source: 'windows.txt' batch_size: 4 fg_threshold: 0.5 bg_threshold: 0.5 "
        "fg_fraction: 0.25 context_pad: 16 crop_mode: 'warp' }"}) {
    const auto net = Compute(
        StrCat("layer { name: 'data' top: 'data' top: 'label' ", data, " }", Inner("ip", "data", 5),
               "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' bottom: 'label' "
               "top: 'loss' }"),
        TRAIN, Shape{3, 8, 8});
    EXPECT_EQ(net->input_shape(), (Shape{4, 3, 8, 8})) << data;
  }
}

TEST(CaffeIdiomsTest, ALossWithoutATopCountsUnderItsOwnName) {
  std::string text = Head("");
  text = text.replace(text.find("bottom: \"top\""), 13, "bottom: \"data\"");
  text = text.replace(text.find(" top: \"loss\""), 12, "");
  const auto net = Compute(text, TRAIN);
  ASSERT_EQ(net->Scalars().size(), 1u);
  EXPECT_EQ(net->Scalars()[0].first, "loss");
  EXPECT_GT(net->Scalars()[0].second, 0);
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

constexpr char kOldTrainVal[] = R"(
layers {
  name: "mnist" type: DATA top: "data" top: "label" include: { phase: TRAIN }
  data_param { source: "train_leveldb" batch_size: 8 scale: 0.00390625 }
}
layers {
  name: "mnist" type: DATA top: "data" top: "label" include: { phase: TEST }
  data_param { source: "test_leveldb" batch_size: 5 scale: 0.00390625 }
}
layers {
  name: "conv1" type: CONVOLUTION bottom: "data" top: "conv1"
  blobs_lr: 1 blobs_lr: 2 weight_decay: 1 weight_decay: 0
  convolution_param { num_output: 6 kernel_size: 5 weight_filler { type: "xavier" } }
}
layers { name: "relu1" type: RELU bottom: "conv1" top: "conv1" }
layers {
  name: "pool1" type: POOLING bottom: "conv1" top: "pool1"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 }
}
layers {
  name: "ip" type: INNER_PRODUCT bottom: "pool1" top: "ip" blobs_lr: 1 blobs_lr: 2
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } }
}
layers {
  name: "accuracy" type: ACCURACY bottom: "ip" bottom: "label" top: "accuracy"
  include: { phase: TEST }
}
layers { name: "loss" type: SOFTMAX_LOSS bottom: "ip" bottom: "label" top: "loss" }
)";

TEST(CaffeIdiomsTest, ANetInTheV1FormatBuildsInBothPhases) {
  const auto train = Compute(kOldTrainVal, TRAIN, Shape{1, 20, 20});
  EXPECT_EQ(train->input_shape(), (Shape{8, 1, 20, 20}));
  EXPECT_EQ(PoolNames(*train), "ip.weight ip.bias conv1.weight conv1.bias ");
  const auto& entries = train->parameters()->layout().entries();
  EXPECT_EQ(entries[1].lr_mult, 2);
  EXPECT_EQ(entries[1].decay_mult, 1);
  EXPECT_EQ(entries[3].lr_mult, 2);
  EXPECT_EQ(entries[3].decay_mult, 0);
  const auto test = Compute(kOldTrainVal, TEST, Shape{1, 20, 20});
  EXPECT_EQ(test->input_shape(), (Shape{5, 1, 20, 20}));
  ASSERT_EQ(test->Scalars().size(), 2u);
  EXPECT_EQ(test->Scalars()[0].first, "accuracy");
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

TEST(CaffeIdiomsTest, AReductionWithALossWeightIsALoss) {
  const auto net = Compute(Head(R"(
    layer { name: "ip" type: "InnerProduct" bottom: "data" top: "top" inner_product_param
            { num_output: 12 weight_filler { type: "xavier" } } }
    layer { name: "size" type: "Reduction" bottom: "top" top: "size" loss_weight: 0.5
            reduction_param { operation: SUMSQ } })"),
                           TRAIN);
  const float loss = net->Forward(RandomBatch(net->input_shape(), 5)).Value();
  const auto scalars = net->Scalars();
  ASSERT_EQ(scalars.size(), 2u);
  EXPECT_EQ(scalars[0].first, "size");
  EXPECT_GT(scalars[0].second, 0);
  EXPECT_NEAR(loss, 0.5f * scalars[0].second + scalars[1].second, 1e-5 * loss);
}

TEST(CaffeIdiomsTest, AnArgMaxNamesTheClassesInEveryType) {
  for (const DType compute : ComputeTypes()) {
    NetOptions options = TestOptions(TEST);
    options.compute = compute;
    const auto net = NewNet(R"(
      input: "data" input_shape { dim: [6, 3, 9, 9] }
      layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
              inner_product_param { num_output: 300 weight_filler { type: "xavier" } } }
      layer { name: "prob" type: "Softmax" bottom: "ip" top: "prob" }
      layer { name: "best" type: "ArgMax" bottom: "ip" top: "best" })",
                            options);
    net->InitParameters();
    net->Forward(RandomBatch(net->input_shape(), 5));
    const std::vector<float> scores = net->Logits(), best = net->Blob("best");
    ASSERT_EQ(best.size(), 6u);
    for (int i = 0; i < 6; ++i) {
      const auto row = scores.begin() + 300 * i;
      EXPECT_EQ(best[i], static_cast<float>(std::max_element(row, row + 300) - row)) << i;
    }
  }
}

// As in Caffe's example mnist_siamese, whose labels say whether two images are similar.
TEST(CaffeIdiomsTest, ASliceOfThePairLeadsToAContrastiveLoss) {
  const auto net = NewNet(
      "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: [4, 2, 4, 4] } } }"
      "layer { name: 'y' type: 'Input' top: 'sim' input_param { shape { dim: 4 } } }"
      "layer { name: 's' type: 'Slice' bottom: 'x' top: 'data' top: 'data_p' "
      "slice_param { slice_dim: 1 slice_point: 1 } }" +
      Inner("feat", "data", 2) + Inner("feat_p", "data_p", 2) +
      "layer { name: 'loss' type: 'ContrastiveLoss' bottom: 'feat' bottom: 'feat_p' bottom: 'sim' "
      "top: 'loss' contrastive_loss_param { margin: 1 } }");
  net->InitParameters();
  EXPECT_GT(Step(net.get()), 0);
  EXPECT_EQ(net->classes(), 0);
}

TEST(CaffeIdiomsTest, CropAndInterpTakeTheSizeOfAnotherBlob) {
  const std::string text = Head(std::string(kConvolution) + R"(
    layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool"
            pooling_param { kernel_size: 2 stride: 2 } }
    layer { name: "resized" type: "Interp" bottom: "pool" bottom: "conv" top: "resized" }
    layer { name: "zoomed" type: "Interp" bottom: "resized" top: "zoomed"
            interp_param { zoom_factor: 2 } }
    layer { name: "crop" type: "Crop" bottom: "zoomed" bottom: "data" top: "top"
            crop_param { offset: 2 } })");
  const auto net = Compute(text, TRAIN);
  EXPECT_EQ(net->Blob("resized").size(), 6u * 8 * 7 * 7);
  EXPECT_EQ(net->Blob("zoomed").size(), 6u * 8 * 13 * 13);
  EXPECT_EQ(net->Blob("top").size(), 6u * 8 * 9 * 9);
  Compute(text, TEST);
}

// As in Caffe's example mnist_autoencoder, two losses are named "loss".
TEST(CaffeIdiomsTest, LayersWithStatisticsMayNotShareAName) {
  const std::string norm = Simple("BatchNorm", "norm", "x") +
                           "layer { name: 'norm' type: 'BatchNorm' bottom: 'norm' top: 'two' }";
  EXPECT_TRUE(Has(Error(norm + Inner("ip", "two", 5) + Loss("loss", "ip")),
                  "layer \"norm#2\" (BatchNorm): an earlier layer of phase TRAIN has the same"));
}

TEST(CaffeIdiomsTest, OnlyLayersWithoutParametersMayShareAName) {
  const std::string start =
      "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: [2, 1, 4, 4] } } }"
      "layer { name: 'flat' type: 'Flatten' bottom: 'x' top: 'flat' }" +
      Inner("code", "flat", 16);
  const auto loss = [](const std::string& top, int weight) {
    return StrCat("layer { name: 'loss' type: 'EuclideanLoss' bottom: 'code' bottom: 'flat' top: '",
                  top, "' loss_weight: ", weight, " }");
  };
  const auto net = NewNet(start + loss("one", 1) + loss("two", 0));
  net->InitParameters();
  Step(net.get());
  const auto scalars = net->Scalars();
  ASSERT_EQ(scalars.size(), 2u);
  EXPECT_EQ(scalars[0].first, "one");
  EXPECT_EQ(scalars[1].first, "two");
  EXPECT_EQ(scalars[0].second, scalars[1].second);
  const std::string error = ErrorOf([&] {
    NewNet(start +
           "\nlayer { name: 'code' type: 'InnerProduct' bottom: 'flat' top: 'other' "
           "inner_product_param { num_output: 3 } }" +
           loss("one", 1));
  });
  EXPECT_TRUE(
      Has(error,
          "test.prototxt:2:1: layer \"code#2\" (InnerProduct): an earlier layer of phase "
          "TRAIN has the same name; layers with parameters or statistics need different names"))
      << error;
}

}  // namespace
}  // namespace gf
