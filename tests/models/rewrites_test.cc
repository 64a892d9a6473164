#include "models/rewrites.h"

#include <gtest/gtest.h>

#include "tests/models/rewritten_nodes.h"

namespace gf {
namespace {

constexpr char kConv[] = "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' }";
constexpr char kNorm[] = "layer { name: 'n' type: 'BatchNorm' bottom: 'x' top: 'n' }";
constexpr char kReluC[] = "layer { name: 'r' type: 'ReLU' bottom: 'c' top: 'c' }";

TEST(MergeTest, BatchNormAndScaleBecomeOneLayerWithTheScalesSettings) {
  std::vector<GraphNode> nodes = Nodes(
      "layer { name: 'n' type: 'BatchNorm' bottom: 'x' top: 'n'"
      " param { lr_mult: 0 } param { lr_mult: 0 } param { lr_mult: 0 }"
      " batch_norm_param { eps: 0.001 } }"
      "layer { name: 's' type: 'Scale' bottom: 'n' top: 's'"
      " param { lr_mult: 3 decay_mult: 4 } param { lr_mult: 5 }"
      " scale_param { bias_term: true filler { value: 2 } bias_filler { value: 6 } } }"
      "layer { name: 'r' type: 'ReLU' bottom: 's' top: 'r' }");
  MergeBatchNormAndScale(&nodes);
  ASSERT_EQ(Names(nodes), "n r");
  const LayerParameter& norm = Find(nodes, "n");
  EXPECT_TRUE(norm.fusion().scale());
  EXPECT_TRUE(norm.fusion().scale_bias());
  EXPECT_EQ(norm.fusion().scale_filler().value(), 2);
  EXPECT_EQ(norm.fusion().scale_bias_filler().value(), 6);
  ASSERT_EQ(norm.param_size(), 2);
  EXPECT_EQ(norm.param(0).lr_mult(), 3);
  EXPECT_EQ(norm.param(0).decay_mult(), 4);
  EXPECT_EQ(norm.param(1).lr_mult(), 5);
  EXPECT_FLOAT_EQ(norm.batch_norm_param().eps(), 0.001f);
  EXPECT_EQ(norm.top(0), "s");
}

TEST(MergeTest, InPlacePairsMergeToo) {
  std::vector<GraphNode> nodes = Nodes(std::string(kConv) +
                                       "layer { name: 'n' type: 'BatchNorm' bottom: 'c' top: 'c' }"
                                       "layer { name: 's' type: 'Scale' bottom: 'c' top: 'c' }"
                                       "layer { name: 'r' type: 'ReLU' bottom: 'c' top: 'c' }");
  MergeBatchNormAndScale(&nodes);
  EXPECT_EQ(Names(nodes), "c n r");
  EXPECT_TRUE(Find(nodes, "n").fusion().scale());
  EXPECT_FALSE(Find(nodes, "n").fusion().scale_bias());
}

TEST(MergeTest, ABatchNormThatAnotherLayerReadsTooStaysApart) {
  std::vector<GraphNode> nodes = Nodes(std::string(kNorm) +
                                       "layer { name: 's' type: 'Scale' bottom: 'n' top: 's' }"
                                       "layer { name: 'r' type: 'ReLU' bottom: 'n' top: 'r' }");
  MergeBatchNormAndScale(&nodes);
  EXPECT_EQ(Names(nodes), "n s r");
  EXPECT_FALSE(Find(nodes, "n").fusion().scale());
}

TEST(MergeTest, AScaleOverOtherAxesOrByASecondBlobStaysApart) {
  for (const char* scale :
       {"layer { name: 's' type: 'Scale' bottom: 'n' top: 's' scale_param { num_axes: -1 } }",
        "layer { name: 's' type: 'Scale' bottom: 'n' top: 's' scale_param { axis: 0 } }",
        "layer { name: 's' type: 'Scale' bottom: 'n' bottom: 'x' top: 's' }"}) {
    std::vector<GraphNode> nodes = Nodes(std::string(kNorm) + scale);
    MergeBatchNormAndScale(&nodes);
    EXPECT_EQ(Names(nodes), "n s") << scale;
  }
}

TEST(MergeTest, CaffesParamsOfStatisticsAreDroppedWithoutAScale) {
  std::vector<GraphNode> nodes = Nodes(
      "layer { name: 'n' type: 'BatchNorm' bottom: 'x' top: 'n' param { lr_mult: 0 } }"
      "layer { name: 'r' type: 'ReLU' bottom: 'n' top: 'r' }");
  MergeBatchNormAndScale(&nodes);
  EXPECT_EQ(Find(nodes, "n").param_size(), 0);
}

TEST(FuseTest, ReluFusesIntoConvolutionInnerProductBatchNormAndEltwise) {
  for (const char* type : {"Convolution", "InnerProduct", "BatchNorm", "Eltwise"}) {
    const auto nodes = Fused(std::string("layer { name: 'p' type: '") + type +
                             "' bottom: 'x' top: 'p' }"
                             "layer { name: 'r' type: 'ReLU' bottom: 'p' top: 'r' }"
                             "layer { name: 'q' type: 'Sigmoid' bottom: 'r' top: 'q' }");
    EXPECT_EQ(Names(nodes), "p q") << type;
    EXPECT_TRUE(Find(nodes, "p").fusion().relu()) << type;
    EXPECT_EQ(Find(nodes, "q").bottom(0), Find(nodes, "p").top(0)) << type;
  }
}

TEST(FuseTest, ReluStaysAfterOtherLayers) {
  EXPECT_EQ(Names(Fused("layer { name: 'p' type: 'Pooling' bottom: 'x' top: 'p' }"
                        "layer { name: 'r' type: 'ReLU' bottom: 'p' top: 'p' }")),
            "p r");
}

TEST(FuseTest, ReluStaysWhenItsBottomHasAnotherReader) {
  const auto nodes = Fused(std::string(kConv) +
                           "layer { name: 'r' type: 'ReLU' bottom: 'c' top: 'r' }"
                           "layer { name: 'q' type: 'Sigmoid' bottom: 'c' top: 'q' }");
  EXPECT_EQ(Names(nodes), "c r q");
  EXPECT_FALSE(Find(nodes, "c").fusion().relu());
}

TEST(FuseTest, ReluWithASlopeOrALossWeightOrAStoppedGradientStays) {
  for (const char* what :
       {"relu_param { negative_slope: 0.1 }", "loss_weight: 1", "propagate_down: false"}) {
    EXPECT_EQ(Names(Fused(std::string(kConv) +
                          "layer { name: 'r' type: 'ReLU' bottom: 'c' top: 'c' " + what + " }")),
              "c r")
        << what;
  }
}

TEST(FuseTest, OneReluOnlyFuses) {
  EXPECT_EQ(Names(Fused(std::string(kConv) + kReluC +
                        "layer { name: 'r2' type: 'ReLU' bottom: 'c' top: 'c' }")),
            "c r2");
}

constexpr char kResidual[] =
    "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' }"
    "layer { name: 'n' type: 'BatchNorm' bottom: 'c' top: 'n' }";

TEST(FuseTest, AResidualSumAndItsReluFuseIntoTheBatchNorm) {
  for (const char* order : {"bottom: 'n' bottom: 'x'", "bottom: 'x' bottom: 'n'"}) {
    const auto nodes = Fused(std::string(kResidual) + "layer { name: 'e' type: 'Eltwise' " + order +
                             " top: 'e' } layer { name: 'r' type: 'ReLU' bottom: 'e' top: 'r' }");
    ASSERT_EQ(Names(nodes), "c n");
    const LayerParameter& norm = Find(nodes, "n");
    EXPECT_TRUE(norm.fusion().add());
    EXPECT_TRUE(norm.fusion().relu());
    ASSERT_EQ(norm.bottom_size(), 2);
    EXPECT_EQ(norm.bottom(0), "c");
    EXPECT_EQ(norm.bottom(1), "x");
    EXPECT_EQ(norm.top(0), "r");
  }
}

TEST(FuseTest, ASumOfTwoBatchNormsFusesIntoOneOfThemAfterTheOther) {
  const auto nodes = Fused(std::string(kResidual) +
                           "layer { name: 'd' type: 'BatchNorm' bottom: 'x' top: 'd' }"
                           "layer { name: 'e' type: 'Eltwise' bottom: 'n' bottom: 'd'"
                           " top: 'e' }");
  ASSERT_EQ(Names(nodes), "c d n");
  EXPECT_TRUE(Find(nodes, "n").fusion().add());
  EXPECT_FALSE(Find(nodes, "d").fusion().add());
  EXPECT_EQ(Find(nodes, "n").bottom(1), "d");
}

TEST(FuseTest, OnlyAPlainSumOfTwoFuses) {
  for (const char* sum : {"bottom: 'n' bottom: 'x' eltwise_param { operation: MAX }",
                          "bottom: 'n' bottom: 'x' eltwise_param { operation: PROD }",
                          "bottom: 'n' bottom: 'x' eltwise_param { coeff: 1 coeff: -1 }",
                          "bottom: 'n' bottom: 'x' bottom: 'c'", "bottom: 'n' bottom: 'n'",
                          "bottom: 'n' bottom: 'x' loss_weight: 1",
                          "bottom: 'n' bottom: 'x' propagate_down: true propagate_down: false"}) {
    const auto nodes =
        Fused(std::string(kResidual) + "layer { name: 'e' type: 'Eltwise' top: 'e' " + sum + " }");
    EXPECT_EQ(Names(nodes), "c n e") << sum;
  }
  EXPECT_EQ(Names(Fused(std::string(kResidual) +
                        "layer { name: 'e' type: 'Eltwise' top: 'e' bottom: 'n' bottom: 'x'"
                        " eltwise_param { coeff: 1 coeff: 1 } }")),
            "c n");
}

TEST(FuseTest, ASumStaysWhenItsBatchNormHasAnotherReaderOrItsOwnRelu) {
  EXPECT_EQ(Names(Fused(std::string(kResidual) +
                        "layer { name: 'e' type: 'Eltwise' bottom: 'n' bottom: 'x' top: 'e' }"
                        "layer { name: 'q' type: 'Sigmoid' bottom: 'n' top: 'q' }")),
            "c n e q");
  const auto nodes = Fused(std::string(kResidual) +
                           "layer { name: 'r' type: 'ReLU' bottom: 'n' top: 'r' }"
                           "layer { name: 'e' type: 'Eltwise' bottom: 'r' bottom: 'x' top: 'e' }");
  EXPECT_EQ(Names(nodes), "c n e");
  EXPECT_FALSE(Find(nodes, "n").fusion().add());
}

TEST(FuseTest, MaxPoolingDoesTheBackwardPassOfTheReluBeforeIt) {
  const auto nodes = Fused(std::string(kConv) + kReluC +
                           "layer { name: 'p' type: 'Pooling' bottom: 'c' top: 'p' }");
  EXPECT_TRUE(Find(nodes, "p").fusion().relu_backward());
  EXPECT_TRUE(Find(nodes, "c").fusion().relu_backward_done());
}

TEST(FuseTest, OtherReadersOfTheReluKeepItsBackwardPass) {
  for (const char* after :
       {"layer { name: 'p' type: 'Pooling' bottom: 'c' top: 'p' pooling_param { pool: AVE } }",
        "layer { name: 'p' type: 'Pooling' bottom: 'c' top: 'p' }"
        "layer { name: 'q' type: 'Sigmoid' bottom: 'c' top: 'q' }",
        "layer { name: 'p' type: 'LRN' bottom: 'c' top: 'p' }"}) {
    const auto nodes = Fused(std::string(kConv) + kReluC + after);
    EXPECT_TRUE(Find(nodes, "c").fusion().relu()) << after;
    EXPECT_FALSE(Find(nodes, "c").fusion().relu_backward_done()) << after;
    EXPECT_FALSE(Find(nodes, "p").fusion().relu_backward()) << after;
  }
}

TEST(FuseTest, FlattenBeforeInnerProductIsDropped) {
  const std::string inner = "layer { name: 'i' type: 'InnerProduct' bottom: 'f' top: 'i' }";
  const auto nodes = Fused("layer { name: 'f' type: 'Flatten' bottom: 'x' top: 'f' }" + inner);
  EXPECT_EQ(Names(nodes), "i");
  EXPECT_EQ(Find(nodes, "i").bottom(0), "x");
  EXPECT_EQ(Names(Fused("layer { name: 'f' type: 'Flatten' bottom: 'x' top: 'f'"
                        " flatten_param { axis: 2 } }" +
                        inner)),
            "f i");
  EXPECT_EQ(Names(Fused("layer { name: 'f' type: 'Flatten' bottom: 'x' top: 'f' }")), "f");
}

TEST(FuseTest, DropoutIsDroppedInPhaseTestUnlessItIsAResult) {
  for (const char* type : {"Dropout", "StochasticDepth"}) {
    SCOPED_TRACE(type);
    const std::string dropout =
        StrCat("layer { name: 'd' type: '", type, "' bottom: 'c' top: 'c' }");
    const std::string after = "layer { name: 'q' type: 'Sigmoid' bottom: 'c' top: 'q' }";
    EXPECT_EQ(Names(Fused(kConv + dropout + after, TEST)), "c q");
    EXPECT_EQ(Names(Fused(kConv + dropout + after, TRAIN)), "c d q");
    EXPECT_EQ(Names(Fused(kConv + dropout, TEST)), "c d");
    // What stood on both sides of it can fuse.
    EXPECT_EQ(Names(Fused(kConv + dropout + kReluC + after, TEST)), "c q");
  }
}

}  // namespace
}  // namespace gf
