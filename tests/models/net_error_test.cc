// What a net says about the user's mistakes.

#include <gtest/gtest.h>

#include <string>

#include "tests/models/layers_for_test.h"

namespace gf {
namespace {

TEST(NetErrorTest, ALabelOutOfRangeIsTheUsersError) {
  const auto net = NewNet(kInputs + Inner("ip", "x", 5) + Loss("loss", "ip"));
  net->InitParameters();
  Batch batch = RandomBatch(net->input_shape(), 5);
  batch.labels[2] = 5;
  const std::string error = ErrorOf([&] { net->Forward(batch); });
  EXPECT_TRUE(Has(error, "label 5 of sample 2")) << error;
}

TEST(NetErrorTest, MistakesNameTheLayerAndItsPlace) {
  const std::string unknown = Error(Simple("Convolutoin", "c", "x"));
  EXPECT_TRUE(
      Has(unknown, "layer \"c\": unknown type \"Convolutoin\"; did you mean \"Convolution\"?"))
      << unknown;
  EXPECT_TRUE(Has(unknown, "test.prototxt:1:")) << unknown;
  const std::string internal = Error(Simple("_Reorder", "c", "x"));
  EXPECT_TRUE(Has(internal, "unknown type \"_Reorder\" (known: AbsVal, Accuracy, ")) << internal;
  EXPECT_FALSE(Has(internal, ", _")) << internal;
  const std::string filler =
      Error(Simple("InnerProduct", "i", "x",
                   "inner_product_param { num_output: 2 weight_filler { type: 'xavir' } }"));
  EXPECT_TRUE(Has(filler,
                  "layer \"i\" (InnerProduct): weight: unknown filler type \"xavir\"; did "
                  "you mean \"xavier\"?"))
      << filler;
  NetOptions options = TestOptions();
  options.init.emplace_back("*", FillerParameter());
  options.init[0].second.set_type("msra");
  EXPECT_EQ(Error(Simple("InnerProduct", "i", "x",
                         "inner_product_param { num_output: 2 weight_filler { type: 'xavir' } "
                         "bias_term: false }"),
                  options),
            "(no error)");
  options.init[0].second.set_type("xavir");
  EXPECT_TRUE(
      Has(Error(Simple("InnerProduct", "i", "x", "inner_product_param { num_output: 2 }"), options),
          "init[0].filler: unknown filler type \"xavir\""));
  EXPECT_TRUE(Has(Error("layer { name: 'e' type: 'SoftmaxWithLoss' bottom: 'x' top: 'l' }"),
                  "layer \"e\" (SoftmaxWithLoss): expects 2 bottoms, got 1"));
  EXPECT_TRUE(Has(Error("layer { name: 'r' type: 'ReLU' bottom: 'x' top: 'a' top: 'b' }"),
                  "expects 1 top, got 2"));
  const std::string large = Error(
      "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' "
      "convolution_param { num_output: 2 kernel_size: 11 } }");
  EXPECT_TRUE(Has(large, "layer \"c\" (Convolution)")) << large;
}

TEST(NetErrorTest, ANetTakesImagesOfOneSize) {
  EXPECT_TRUE(Has(Error("layer { name: 'z' type: 'Input' top: 'z' "
                        "input_param { shape { dim: [4, 3, 9, 9] } } }"),
                  "takes images of 4x3x9x9, but another input of the net takes 4x3x8x8"));
  EXPECT_TRUE(Has(ErrorOf([] {
                    NewNet(
                        "layer { name: 'z' type: 'Input' top: 'z' "
                        "input_param { shape { dim: [4, 3] } } }");
                  }),
                  "test.prototxt: the net has no image input"));
}

TEST(NetErrorTest, MixedLabelsNeedALossThatMixes) {
  const std::string scores = Inner("ip", "x", 5);
  const std::string hinge =
      scores + "layer { name: 'h' type: 'HingeLoss' bottom: 'ip' bottom: 'y' top: 'h' }";
  NetOptions options = TestOptions();
  EXPECT_EQ(Error(hinge, options), "(no error)");
  options.mixed = true;
  EXPECT_TRUE(Has(Error(hinge, options),
                  "layer \"h\" (HingeLoss): cannot be trained with mixed labels "
                  "(train_data.mix): use SoftmaxWithLoss, or remove mix"))
      << Error(hinge, options);
  EXPECT_EQ(Error(scores + Loss("loss", "ip"), options), "(no error)");
  const std::string halves =
      Error(scores + Simple("Reshape", "r", "ip", "reshape_param { shape { dim: [2, 5, 2] } }") +
                Loss("loss", "r"),
            options);
  EXPECT_TRUE(Has(halves, "it has 2 samples, but the batch has 4 images: remove mix")) << halves;
}

TEST(NetErrorTest, OnlyLossesHaveALossWeight) {
  EXPECT_TRUE(Has(Error(Inner("ip", "x", 5) + Simple("ReLU", "r", "ip", "loss_weight: 1")),
                  "layer \"r\" (ReLU): has loss_weight 1 but is not a loss"));
  EXPECT_EQ(Error(Inner("ip", "x", 5) + Simple("ReLU", "r", "ip", "loss_weight: 0")), "(no error)");
}

TEST(NetErrorTest, NumbersThatAreAlwaysFP32AreNotReadInAnotherType) {
  const std::string layers = Simple("ArgMax", "best", "x") + Simple("ReLU", "r", "best");
  for (const DType compute : ComputeTypes()) {
    NetOptions options = TestOptions();
    options.compute = compute;
    const std::string error = Error(layers, options);
    if (compute == DType::kFP32) {
      EXPECT_EQ(error, "(no error)");
    } else {
      EXPECT_TRUE(Has(error,
                      "layer \"r\" (ReLU): bottom \"best\" (4x1x1x1) holds FP32 numbers, expected "
                      "BF16: set compute_type: FP32, or remove the layer"))
          << error;
    }
  }
}

TEST(NetErrorTest, LabelsAreNotNumbersNorNumbersLabels) {
  EXPECT_TRUE(Has(Error(Simple("ReLU", "r", "y")), "bottom \"y\" (4) holds labels"));
  const std::string error =
      Error(Simple("Pooling", "p", "x", "pooling_param { global_pooling: true }") +
            Inner("s", "x", 3) + Inner("t", "p", 1) +
            "layer { name: 'l' type: 'SoftmaxWithLoss' bottom: 's' bottom: 't' top: 'l' }");
  EXPECT_TRUE(Has(error, "bottom \"t\" (4x1) does not hold labels of the data")) << error;
  // Of three bottoms.
  const std::string pair = Inner("s", "x", 3) + Inner("t", "x", 3);
  EXPECT_TRUE(Has(Error(pair + "layer { name: 'l' type: 'ContrastiveLoss' bottom: 's' bottom: 't' "
                               "bottom: 't' top: 'l' }"),
                  "layer \"l\" (ContrastiveLoss): bottom \"t\" (4x3) does not hold labels"));
  EXPECT_TRUE(Has(Error(pair + "layer { name: 'l' type: 'InfogainLoss' bottom: 's' bottom: 'y' "
                               "bottom: 'y' top: 'l' }"),
                  "layer \"l\" (InfogainLoss): bottom \"y\" (4) holds labels"));
}

TEST(NetErrorTest, LabelSmoothingIsForSoftmaxWithLoss) {
  NetOptions options = TestOptions();
  options.label_smoothing = 0.1f;
  const std::string hinge =
      "layer { name: 'l' type: 'HingeLoss' bottom: 's' bottom: 'y' top: 'l' }";
  EXPECT_TRUE(Has(Error(Inner("s", "x", 5) + hinge, options),
                  "layer \"l\" (HingeLoss): loss_param.label_smoothing does not go with this "
                  "type: remove it, or the job's solver.label_smoothing"));
  EXPECT_EQ(Error(Inner("s", "x", 5) + hinge), "(no error)");
}

TEST(NetErrorTest, ClassWeightsAreForSoftmaxWithLossWithSoManyClasses) {
  NetOptions options = TestOptions();
  options.class_weights = {1, 2};
  const std::string hinge =
      "layer { name: 'l' type: 'HingeLoss' bottom: 's' bottom: 'y' top: 'l' }";
  EXPECT_TRUE(Has(Error(Inner("s", "x", 2) + hinge, options),
                  "layer \"l\" (HingeLoss): loss_param.class_weight does not go with this type: "
                  "remove it, or the job's solver.class_weight"));
  EXPECT_TRUE(Has(Error(Inner("s", "x", 5) + Loss("l", "s"), options),
                  "layer \"l\" (SoftmaxWithLoss): class_weight, of loss_param or of the job's "
                  "solver, has 2 values, expected 5, one for each class of scores 4x5"));
  EXPECT_EQ(Error(Inner("s", "x", 2) + Loss("l", "s"), options), "(no error)");
}

}  // namespace
}  // namespace gf
