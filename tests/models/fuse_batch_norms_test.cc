#include "models/fuse_batch_norms.h"

#include <gtest/gtest.h>

#include "tests/models/rewritten_nodes.h"

namespace gf {
namespace {

TEST(FuseBatchNormsTest, ConvolutionsSumUpTheirResultsForABatchNormThatTrains) {
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

TEST(FuseBatchNormsTest, ABatchNormNormalizesWhatItAddsToo) {
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

TEST(FuseBatchNormsTest, WhatIsAddedStaysAnOwnBatchNorm) {
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

TEST(FuseBatchNormsTest, ABatchNormTakesTheMaximaOfItsResult) {
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

TEST(FuseBatchNormsTest, SaysWhatIsNotFusedAndWhy) {
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

}  // namespace
}  // namespace gf
