// Losses, branches and small layers, written the way Caffe's users write them.

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/models/caffe_nets_for_test.h"

namespace gf {
namespace {

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

TEST(CaffeIdiomsTest, ALossWithoutATopCountsUnderItsOwnName) {
  std::string text = Head("");
  text = text.replace(text.find("bottom: \"top\""), 13, "bottom: \"data\"");
  text = text.replace(text.find(" top: \"loss\""), 12, "");
  const auto net = Compute(text, TRAIN);
  ASSERT_EQ(net->Scalars().size(), 1u);
  EXPECT_EQ(net->Scalars()[0].first, "loss");
  EXPECT_GT(net->Scalars()[0].second, 0);
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
