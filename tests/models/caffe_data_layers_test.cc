// The inputs of Caffe's nets: data layers of both formats, and inputs of deploy nets.

#include <gtest/gtest.h>

#include "tests/models/caffe_nets_for_test.h"

namespace gf {
namespace {

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

}  // namespace
}  // namespace gf
