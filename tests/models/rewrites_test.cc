#include "models/rewrites.h"

#include <gtest/gtest.h>

#include "models/graph.h"
#include "tests/models/net_for_test.h"

namespace gf {
namespace {

constexpr char kInput[] = "layer { name: 'x' type: 'Input' top: 'x' }";
constexpr char kConv[] = "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' }";
constexpr char kNorm[] = "layer { name: 'n' type: 'BatchNorm' bottom: 'x' top: 'n' }";
constexpr char kReluC[] = "layer { name: 'r' type: 'ReLU' bottom: 'c' top: 'c' }";

std::vector<GraphNode> Nodes(const std::string& layers, Phase phase = TRAIN) {
  return ResolveGraph(ParseNet(kInput + layers, "test.prototxt"), phase);
}

std::vector<GraphNode> Fused(const std::string& layers, Phase phase = TRAIN,
                             const BatchNormFusions& fusions = {}) {
  std::vector<GraphNode> nodes = Nodes(layers, phase);
  MergeBatchNormAndScale(&nodes);
  FuseLayers(phase, fusions, &nodes);
  return nodes;
}

// "x c r": names in order, without the input.
std::string Names(const std::vector<GraphNode>& nodes) {
  std::string names;
  for (const GraphNode& node : nodes) {
    if (node.param.type() != "Input") names += (names.empty() ? "" : " ") + node.param.name();
  }
  return names;
}

const LayerParameter& Find(const std::vector<GraphNode>& nodes, const char* name) {
  for (const GraphNode& node : nodes) {
    if (node.param.name() == name) return node.param;
  }
  ADD_FAILURE() << "no layer " << name;
  return nodes[0].param;
}

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

TEST(FuseTest, ConvolutionsSumUpTheirResultsForABatchNormThatTrains) {
  const auto conv = [](const std::string& parameters) {
    return "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { " +
           parameters + " } }";
  };
  const auto norm = [](const std::string& parameters) {
    return "layer { name: 'n' type: 'BatchNorm' bottom: 'c' top: 'n' " + parameters + " }";
  };
  const auto sums = [&](const std::string& layers, Phase phase = TRAIN, bool allowed = true) {
    BatchNormFusions fusions;
    fusions.sums = allowed;
    const std::vector<GraphNode> nodes = Fused(layers, phase, fusions);
    const LayerParameter &c = Find(nodes, "c"), &n = Find(nodes, "n");
    EXPECT_EQ(c.fusion().sums(), n.fusion().sums());
    EXPECT_EQ(c.top_size(), c.fusion().sums() ? 2 : 1);
    if (c.top_size() == 2) {
      EXPECT_EQ(n.bottom(n.bottom_size() - 1), c.top(1));
    }
    return c.fusion().sums();
  };
  const std::string plain = conv("bias_term: false");
  EXPECT_TRUE(sums(plain + norm("")));
  EXPECT_TRUE(sums(plain + norm("") + "layer { name: 'r' type: 'ReLU' bottom: 'n' top: 'n' }"));
  EXPECT_TRUE(sums(plain + norm("") +
                   "layer { name: 's' type: 'Eltwise' bottom: 'n' bottom: 'x' top: 's' }"))
      << "after a residual sum, too";
  EXPECT_FALSE(sums(plain + norm(""), TRAIN, false)) << "the device does not offer it";
  EXPECT_FALSE(sums(plain + norm(""), TEST));
  EXPECT_FALSE(sums(plain + norm("batch_norm_param { use_global_stats: true }")));
  EXPECT_FALSE(sums(conv("") + norm(""))) << "with a bias";
  EXPECT_FALSE(sums(conv("bias_term: false group: 2") + norm("")));
  EXPECT_FALSE(sums(plain + "layer { name: 'd' type: 'Dropout' bottom: 'c' top: 'd' }" +
                    "layer { name: 'n' type: 'BatchNorm' bottom: 'd' top: 'n' }"));
}

// A residual block with a convolution and a batch norm in its shortcut.
constexpr char kShortcut[] =
    "layer { name: 'd' type: 'Convolution' bottom: 'x' top: 'd'"
    " convolution_param { bias_term: false } }"
    "layer { name: 'm' type: 'BatchNorm' bottom: 'd' top: 'm' }";
constexpr char kBlockEnd[] =
    "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c'"
    " convolution_param { bias_term: false } }"
    "layer { name: 'n' type: 'BatchNorm' bottom: 'c' top: 'n' }"
    "layer { name: 'e' type: 'Eltwise' bottom: 'n' bottom: 'm' top: 'e' }"
    "layer { name: 'r' type: 'ReLU' bottom: 'e' top: 'e' }";

TEST(FuseTest, ABatchNormNormalizesWhatItAddsToo) {
  BatchNormFusions fusions;
  fusions.pairs = fusions.sums = true;
  const std::vector<GraphNode> nodes = Fused(std::string(kShortcut) + kBlockEnd, TRAIN, fusions);
  const LayerParameter &m = Find(nodes, "m"), &n = Find(nodes, "n");
  EXPECT_EQ(m.type(), "_BatchNormChannels");
  EXPECT_EQ(n.type(), "_BatchNormPair");
  EXPECT_TRUE(n.fusion().add() && n.fusion().relu());
  ASSERT_EQ(n.bottom_size(), 4);
  EXPECT_EQ(n.bottom(0), "c");
  EXPECT_EQ(n.bottom(1), "d");
  EXPECT_EQ(n.bottom(2), m.top(0));
  EXPECT_EQ(n.bottom(3), Find(nodes, "c").top(1)) << "sums of the convolution";
  ASSERT_EQ(m.bottom_size(), 2);
  EXPECT_EQ(m.bottom(1), Find(nodes, "d").top(1));
}

TEST(FuseTest, WhatIsAddedStaysAnOwnBatchNorm) {
  const auto pair = [](const std::string& layers, Phase phase = TRAIN, bool allowed = true) {
    BatchNormFusions fusions;
    fusions.pairs = allowed;
    for (const GraphNode& node : Fused(layers, phase, fusions)) {
      if (node.param.type() == "_BatchNormPair") return true;
    }
    return false;
  };
  const std::string shortcut = kShortcut;
  EXPECT_TRUE(pair(shortcut + kBlockEnd));
  EXPECT_FALSE(pair(shortcut + kBlockEnd, TRAIN, false)) << "the device does not offer it";
  EXPECT_FALSE(pair(shortcut + kBlockEnd, TEST));
  EXPECT_FALSE(
      pair(shortcut + "layer { name: 's' type: 'ReLU' bottom: 'm' top: 'm' }" + kBlockEnd));
  EXPECT_FALSE(
      pair(shortcut + kBlockEnd + "layer { name: 'q' type: 'Sigmoid' bottom: 'm' top: 'q' }"))
      << "with another reader";
  const std::string running =
      "layer { name: 'd' type: 'Convolution' bottom: 'x' top: 'd' }"
      "layer { name: 'm' type: 'BatchNorm' bottom: 'd' top: 'm'"
      " batch_norm_param { use_global_stats: true } }";
  EXPECT_FALSE(pair(running + kBlockEnd)) << "with running statistics";
}

TEST(FuseTest, ABatchNormTakesTheMaximaOfItsResult) {
  const std::string norm =
      "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c'"
      " convolution_param { num_output: 16 } }"
      "layer { name: 'n' type: 'BatchNorm' bottom: 'c' top: 'n' }"
      "layer { name: 'r' type: 'ReLU' bottom: 'n' top: 'n' }";
  const std::string pool =
      "layer { name: 'p' type: 'Pooling' bottom: 'n' top: 'p'"
      " pooling_param { kernel_size: 3 stride: 2 pad: 1 } }";
  BatchNormFusions fusions;
  fusions.pooling = true;
  const std::vector<GraphNode> nodes = Fused(norm + pool, TRAIN, fusions);
  ASSERT_EQ(Names(nodes), "c n");
  const LayerParameter& n = Find(nodes, "n");
  EXPECT_EQ(n.type(), "_BatchNormPooling");
  EXPECT_TRUE(n.fusion().relu());
  EXPECT_EQ(n.top(0), "p");
  EXPECT_EQ(n.pooling_param().pad(), 1u);
  EXPECT_EQ(Names(Fused(norm + pool, TEST, fusions)), "c n p");
  EXPECT_EQ(Names(Fused(norm + pool, TRAIN)), "c n p") << "the device does not offer it";
  EXPECT_EQ(Names(Fused(norm + pool + "layer { name: 's' type: 'Sigmoid' bottom: 'n' top: 's' }",
                        TRAIN, fusions)),
            "c n p s")
      << "with another reader";
}

TEST(FuseTest, SaysWhatIsNotFusedAndWhy) {
  const auto lines = [](const std::string& layers, Phase phase = TRAIN) {
    std::vector<GraphNode> nodes = Nodes(layers, phase);
    MergeBatchNormAndScale(&nodes);
    std::vector<std::string> result;
    for (const Unfused& unfused : FuseLayers(phase, {true, true, true}, &nodes)) {
      result.push_back(unfused.Line());
    }
    return result;
  };
  using Lines = std::vector<std::string>;
  const auto norm_of = [](const std::string& fields) {
    return "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' convolution_param { " +
           fields + " } } layer { name: 'n' type: 'BatchNorm' bottom: 'c' top: 'n' }";
  };
  const std::string plain = "bias_term: false num_output: 16 ", shortcut = kShortcut;
  EXPECT_EQ(lines(norm_of(plain)), Lines());
  EXPECT_EQ(lines(norm_of(""), TEST), Lines());
  const std::string sums = "sums of a batch norm's input, since the ";
  EXPECT_EQ(lines(norm_of("")), Lines{sums + "convolution before has a bias: n"});
  EXPECT_EQ(lines(norm_of(plain + "group: 2")), Lines{sums + "convolution before has groups: n"});
  std::string norms;
  for (const char* name : {"n", "o", "p", "q", "r"}) {
    norms += StrCat("layer { name: '", name, "' type: 'BatchNorm' bottom: 'x' top: 'x' }");
  }
  EXPECT_EQ(lines(norms), Lines{sums + "layer before is no convolution: n, o, p and 2 more"});

  EXPECT_EQ(lines(shortcut + kBlockEnd), Lines());
  EXPECT_EQ(lines(shortcut + "layer { name: 's' type: 'ReLU' bottom: 'm' top: 'm' }" + kBlockEnd),
            Lines{"batch norm of a shortcut, since it has a ReLU: m"});
  EXPECT_EQ(
      lines(shortcut + kBlockEnd + "layer { name: 's' type: 'Sigmoid' bottom: 'm' top: 's' }"),
      Lines())
      << "its result is stored for the other reader";

  const auto pool = [](const std::string& fields) {
    return "layer { name: 'p' type: 'Pooling' bottom: 'n' top: 'p' pooling_param { " + fields +
           " } }";
  };
  EXPECT_EQ(lines(norm_of(plain) + pool("kernel_size: 3 stride: 2")), Lines());
  EXPECT_EQ(lines(norm_of(plain) + pool("pool: AVE kernel_size: 5")), Lines());
  EXPECT_EQ(lines(norm_of(plain) + pool("kernel_size: 5 stride: 2")),
            Lines{"max pooling after a batch norm, since it is not 2x2 or 3x3 with stride 2 on a "
                  "multiple of 8 channels: p"});
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
