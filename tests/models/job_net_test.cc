#include "models/job_net.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/output_file.h"
#include "models/graph.h"
#include "models/inputs.h"
#include "tests/models/net_for_test.h"

namespace gf {
namespace {

constexpr char kInputs[] =
    "layer { name: 'data' type: 'Input' top: 'x' input_param { shape { dim: [1, 3, 32, 32] } } }\n"
    "layer { name: 'label' type: 'Input' top: 'y' input_param { shape { dim: [1, 1, 1, 1] } } }\n";

std::string Inner(const std::string& name, const std::string& bottom, int outputs) {
  return StrCat("layer { name: '", name, "' type: 'InnerProduct' bottom: '", bottom, "' top: '",
                name, "' inner_product_param { num_output: ", outputs, " } }\n");
}

std::string Simple(const std::string& type, const std::string& bottom, const std::string& top) {
  return StrCat("layer { name: '", type, "' type: '", type, "' bottom: '", bottom, "' top: '", top,
                "' }\n");
}

std::string Loss(const std::string& bottom, const std::string& more = "") {
  return StrCat("layer { name: 'loss", more, "' type: 'SoftmaxWithLoss' bottom: '", bottom,
                "' bottom: 'y' top: 'loss", more, "' }\n");
}

// A net after ChangeClasses, compiled.
std::unique_ptr<Net> WithClasses(const std::string& text, int64_t classes) {
  NetSource source = ParseNet(text, "test.prototxt");
  ChangeClasses(classes, &source);
  return NewNet(source, TestOptions());
}

std::string ClassesError(const std::string& text) {
  NetSource source = ParseNet(text, "test.prototxt");
  return ErrorOf([&] { ChangeClasses(10, &source); });
}

TEST(JobNetTest, ClassesBecomeTheOutputsOfTheLastLayer) {
  const std::string body = kInputs + Inner("ip1", "x", 7) + Simple("ReLU", "ip1", "ip1");
  const auto net = WithClasses(
      body + Inner("ip2", "ip1", 1000) + Simple("Dropout", "ip2", "ip2") + Loss("ip2"), 10);
  EXPECT_EQ(net->classes(), 10);
  const PoolLayout& layout = net->parameters()->layout();
  EXPECT_EQ(layout.entries()[layout.Find("ip1.weight")].shape[0], 7);
  EXPECT_EQ(layout.entries()[layout.Find("ip2.weight")].shape, (Shape{10, 7}));
  EXPECT_EQ(layout.entries()[layout.Find("ip2.bias")].shape, (Shape{10}));
}

TEST(JobNetTest, ABiasAfterTheLastLayerFollowsTheClasses) {
  const auto net = WithClasses(
      kInputs + Inner("ip", "x", 1000) + Simple("Bias", "ip", "biased") + Loss("biased"), 10);
  const PoolLayout& layout = net->parameters()->layout();
  EXPECT_EQ(layout.entries()[layout.Find("ip.weight")].shape[0], 10);
  EXPECT_EQ(layout.entries()[layout.Find("Bias.bias")].shape, (Shape{10}));
}

TEST(JobNetTest, AConvolutionBeforeAPoolingMakesClassesToo) {
  const auto net =
      WithClasses(kInputs +
                      std::string("layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' "
                                  "convolution_param { num_output: 1000 kernel_size: 1 } }\n"
                                  "layer { name: 'p' type: 'Pooling' bottom: 'c' top: 'p' "
                                  "pooling_param { pool: AVE global_pooling: true } }\n") +
                      Loss("p"),
                  12);
  EXPECT_EQ(net->classes(), 12);
}

TEST(JobNetTest, ANetOfOnePhaseHasClassesToo) {
  std::string inputs = kInputs;
  for (size_t at = 0; (at = inputs.find("type: 'Input'", at)) != std::string::npos; at += 40) {
    inputs.insert(at, "include { phase: TEST } ");
  }
  const std::string text = inputs + Inner("ip", "x", 1000) + Loss("ip");
  NetSource source = ParseNet(text, "test.prototxt");
  ChangeClasses(10, &source);
  const auto& layers = source.param.layer();
  const auto ip = std::find_if(layers.begin(), layers.end(),
                               [](const LayerParameter& layer) { return layer.name() == "ip"; });
  ASSERT_NE(ip, layers.end());
  EXPECT_EQ(ip->inner_product_param().num_output(), 10u);
}

TEST(JobNetTest, LossesOfClassesAreKnown) {
  const auto net =
      WithClasses(kInputs + Inner("a", "x", 1000) +
                      "layer { name: 'l' type: 'HingeLoss' bottom: 'a' bottom: 'y' top: 'l' }",
                  12);
  EXPECT_EQ(net->classes(), 12);
}

TEST(JobNetTest, ADeconvolutionMakesClassesUnlessItHasGroups) {
  const auto text = [](int groups) {
    const std::string conv =
        "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { "
        "num_output: 20 kernel_size: 32 } }\n";
    const std::string up =
        "layer { name: 'd' type: 'Deconvolution' bottom: 'c' top: 'd' convolution_param { "
        "num_output: 20 kernel_size: 1 group: ";
    return StrCat(kInputs, conv, up, groups, " } }\n", Loss("d"));
  };
  EXPECT_EQ(WithClasses(text(1), 12)->classes(), 12);
  EXPECT_EQ(ClassesError(text(20)),
            "test.prototxt:4:1: classes: layer \"d\" (Deconvolution) enlarges its bottom in 20 "
            "groups, so that earlier layers make the classes: change num_output and group in the "
            "net itself, and remove classes from the job");
}

TEST(JobNetTest, LayersThatKeepTheChannelsLeadToTheClasses) {
  const auto net =
      WithClasses(kInputs +
                      std::string("layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' "
                                  "convolution_param { num_output: 1000 kernel_size: 1 } }\n"
                                  "layer { name: 'i' type: 'Interp' bottom: 'c' top: 'i' "
                                  "interp_param { zoom_factor: 2 } }\n"
                                  "layer { name: 'k' type: 'Crop' bottom: 'i' bottom: 'c' "
                                  "top: 'k' }\n"
                                  "layer { name: 'n' type: 'LayerNorm' bottom: 'k' top: 'n' "
                                  "layer_norm_param { channels_only: true } }\n"
                                  "layer { name: 'd' type: 'StochasticDepth' bottom: 'n' "
                                  "top: 'd' }\n"
                                  "layer { name: 'p' type: 'Pooling' bottom: 'd' top: 'p' "
                                  "pooling_param { pool: AVE global_pooling: true } }\n") +
                      Loss("p"),
                  12);
  EXPECT_EQ(net->classes(), 12);
  const PoolLayout& layout = net->parameters()->layout();
  EXPECT_EQ(layout.entries()[layout.Find("n.weight")].shape, (Shape{12}));
}

TEST(JobNetTest, EveryLossOfBothPhasesIsChanged) {
  NetSource source = ParseNet(
      kInputs + Inner("a", "x", 1000) + Loss("a", "1") + Inner("b", "x", 1000) + Loss("b", "2") +
          "layer { name: 'c' type: 'InnerProduct' bottom: 'x' top: 'c' "
          "inner_product_param { num_output: 1000 } include { phase: TEST } }\n"
          "layer { name: 's' type: 'Softmax' bottom: 'c' top: 's' include { phase: TEST } }\n",
      "test.prototxt");
  ChangeClasses(10, &source);
  int changed = 0;
  for (const LayerParameter& layer : source.param.layer()) {
    changed += layer.inner_product_param().num_output() == 10;
  }
  EXPECT_EQ(changed, 3);
}

TEST(JobNetTest, AccuracyAmongMoreThanTheClassesIsLeftOut) {
  const auto accuracy = [](const std::string& name, int top_k) {
    return StrCat("layer { name: '", name, "' type: 'Accuracy' bottom: 'a' bottom: 'y' top: '",
                  name, "' accuracy_param { top_k: ", top_k, " } }\n");
  };
  const std::string net =
      kInputs + Inner("a", "x", 1000) + accuracy("top1", 1) + accuracy("top5", 5) + Loss("a");
  EXPECT_EQ(WithClasses(net, 5)->ops().size(), WithClasses(net, 4)->ops().size() + 1);
  // What another layer reads stays, and is refused.
  const std::string read = net + "layer { name: 's' type: 'Silence' bottom: 'top5' }\n";
  EXPECT_NE(ErrorOf([&] { WithClasses(read, 4); })
                .find("accuracy_param.top_k is 5; with 4 classes it must be in 1..4: change it, or "
                      "remove the layer"),
            std::string::npos);
}

TEST(JobNetTest, WhatIsNotClearIsNamed) {
  EXPECT_EQ(
      ClassesError(kInputs + Inner("a", "x", 1000) + Loss("a", "1") + Inner("b", "x", 20) +
                   Loss("b", "2")),
      "test.prototxt:5:1: classes: layer \"b\" (InnerProduct) has 20 outputs, but layer \"a\" "
      "(InnerProduct) has 1000: it is not clear which of them are the classes: change "
      "num_output in the net itself, and remove classes from the job");
  const std::string sum = ClassesError(
      kInputs + Inner("a", "x", 5) + Inner("b", "x", 5) +
      "layer { name: 'sum' type: 'Eltwise' bottom: 'a' bottom: 'b' top: 'sum' }\n" + Loss("sum"));
  EXPECT_NE(sum.find("test.prototxt:5:1: classes: layer \"sum\" (Eltwise) leads to the loss"),
            std::string::npos)
      << sum;
  EXPECT_NE(ClassesError(kInputs + Inner("a", "x", 5))
                .find("has no Softmax, SoftmaxWithLoss, InfogainLoss or HingeLoss: remove"),
            std::string::npos);
}

// "64x3x32x32" of the first input after both changes, for data of this size.
std::string InputOf(const std::string& text, const std::string& input, const Shape& data) {
  NetSource source = ParseNet(text, "test.prototxt");
  InputConfig config;
  ParseTextProto(input, "input", &config);
  ChangeInput(config, &source);
  auto nodes = ResolveGraph(source, TRAIN);
  SetInputs(64, data, &nodes);
  const BlobShape& shape = nodes[0].param.input_param().shape(0);
  return Shape(std::vector<int64_t>(shape.dim().begin(), shape.dim().end())).ToString();
}

TEST(JobNetTest, TheInputFollowsTheData) {
  const Shape data{3, 48, 40};
  EXPECT_EQ(InputOf(kInputs, "", data), "64x3x48x40");
  EXPECT_EQ(InputOf(kInputs, "channels: 3 height: 48", data), "64x3x48x40");
  EXPECT_EQ(InputOf("input: 'x' input_dim: 10 input_dim: 3 input_dim: 6 input_dim: 6", "", data),
            "64x3x48x40");
  EXPECT_EQ(InputOf("input: 'x' input: 'y' input_dim: [10, 3, 6, 6, 10, 1, 1, 1]", "", data),
            "64x3x48x40");
  EXPECT_EQ(InputOf("input: 'x' input_shape { dim: [1, 3, 6, 6] }", "", data), "64x3x48x40");
  EXPECT_EQ(InputOf("layer { name: 'd' type: 'Data' top: 'x' top: 'y' "
                    "transform_param { crop_size: 227 } data_param { crop_size: 27 } }",
                    "", data),
            "64x3x48x40");
  for (const char* layer :
       {"type: 'MemoryData' memory_data_param { channels: 1 height: 6 width: 6 }",
        "type: 'DummyData' dummy_data_param { shape { dim: [1, 3, 6, 6] } shape { dim: 1 } }",
        "type: 'WindowData' window_data_param { crop_size: 6 }", "type: 'HDF5Data'"}) {
    const std::string text = StrCat("layer { name: 'd' top: 'x' top: 'y' ", layer, " }");
    EXPECT_EQ(InputOf(text, "", data), "64x3x48x40") << layer;
  }
  // The labels are no images.
  NetSource source = ParseNet(kInputs, "test.prototxt");
  ChangeInput(InputConfig(), &source);
  EXPECT_EQ(source.param.layer(1).input_param().shape(0).dim(1), 1);
}

TEST(JobNetTest, AnInputThatDoesNotFitTheDataIsRefused) {
  EXPECT_NE(ErrorOf([] {
              InputOf(kInputs, "height: 64 width: 64", Shape{3, 48, 40});
            }).find("takes images of 3x64x64 but is given 3x48x40"),
            std::string::npos);
  EXPECT_NE(ErrorOf([] {
              InputOf("layer { name: 'd' type: 'Data' top: 'x' top: 'y' }", "height: 64 width: 64",
                      Shape{3, 48, 40});
            }).find("crops images to 3x64x64 but is given 3x48x40"),
            std::string::npos);
  EXPECT_NE(ErrorOf([] {
              InputOf(kInputs, "", Shape());
            }).find("takes the size of the data (input of the job), which is not known"),
            std::string::npos);
}

TEST(JobNetTest, TheJobsClassWeightsReplaceThoseOfTheNetInTraining) {
  JobConfig config;
  for (float weight : {1, 2, 0}) config.mutable_solver()->add_class_weight(weight);
  EXPECT_EQ(NetOptionsOf(config, TRAIN).class_weights, (std::vector<float>{1, 2, 0}));
  EXPECT_TRUE(NetOptionsOf(config, TEST).class_weights.empty());
  const auto loss = [](const std::string& weights, const std::vector<float>& of_job) {
    NetOptions options = TestOptions();
    options.class_weights = of_job;
    const auto net = NewNet(kInputs + Inner("ip", "x", 3) +
                                "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'ip' "
                                "bottom: 'y' top: 'loss' loss_param { normalization: NONE " +
                                weights + " } }",
                            options);
    net->InitParameters();
    Batch batch = RandomBatch(net->input_shape(), 3);
    batch.labels = {1};
    return net->Forward(batch).Value();
  };
  const float plain = loss("", {});
  EXPECT_FLOAT_EQ(plain, std::log(3.f));  // the weights are 0
  EXPECT_FLOAT_EQ(loss("class_weight: [1, 3, 1]", {}), 3 * plain);
  EXPECT_FLOAT_EQ(loss("class_weight: [1, 3, 1]", {1, 2, 0}), 2 * plain);
}

TEST(JobNetTest, AJobChangesTheNetThatItNames) {
  JobConfig config;
  config.set_net(testing::TempDir() + "/job_net_test.prototxt");
  ReplaceFile(config.net(), kInputs + Inner("ip", "x", 1000) + Loss("ip"));
  NetOptions options = TestOptions();
  EXPECT_EQ(NewNet(ReadJobNet(config), options)->classes(), 1000);
  config.set_classes(10);
  config.mutable_input();
  options.image_shape = Shape{3, 8, 8};
  const auto net = NewNet(ReadJobNet(config), options);
  EXPECT_EQ(net->classes(), 10);
  EXPECT_EQ(net->input_shape(), (Shape{1, 3, 8, 8}));
}

}  // namespace
}  // namespace gf
