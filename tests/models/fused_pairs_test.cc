// Two batch norms whose results are added, computed together: on GPUs.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/models/fused_norms_for_test.h"

namespace gf {
namespace {

// A residual block with a convolution and a batch norm in its shortcut, and a second one whose
// shortcut is plain, so that the gradient of the first one's result comes from two readers.
struct BlockOf {
  int channels;
  bool relu, scale;
};

std::string Text(const BlockOf& block) {
  const std::string norm = block.scale ? "ns" : "n", other = block.scale ? "ms" : "m";
  std::string text =
      std::string(kInputs) + Plain("c0", "x", block.channels, "kernel_size: 1") +
      Simple("ReLU", "r0", "c0") + Plain("c", "r0", block.channels, "kernel_size: 1 stride: 2") +
      Norm("n", "c", block.scale) + Plain("d", "r0", block.channels, "kernel_size: 1 stride: 2") +
      Norm("m", "d", block.scale) +
      StrCat("layer { name: 'sum' type: 'Eltwise' bottom: '", norm, "' bottom: '", other,
             "' top: 'sum' }");
  const std::string result = block.relu ? "r" : "sum";
  if (block.relu) text += Simple("ReLU", "r", "sum");
  return text + Plain("c2", result, block.channels, "kernel_size: 1") + Norm("n2", "c2") +
         StrCat("layer { name: 'sum2' type: 'Eltwise' bottom: 'n2s' bottom: '", result,
                "' top: 'sum2' }") +
         Inner("scores", "sum2", 5) + Loss("loss", "scores");
}

bool IsPair(const Net& net) { return HasType(net, "_BatchNormPair"); }

class FusedPairsTest : public FusedNormsTest {
 protected:
  void SetUp() override { NeedKernel("_BatchNormPair"); }
};

TEST_P(FusedPairsTest, ChangeResultsByRoundingOnly) {
  for (const bool relu : {true, false}) {
    for (const bool scale : {true, false}) {
      SCOPED_TRACE(StrCat("relu ", relu, ", scale ", scale));
      ExpectSameSteps(Text({channels(), relu, scale}), "_BatchNormPair");
    }
  }
}

TEST_P(FusedPairsTest, RepeatToTheBit) { ExpectRepeats(Text({channels(), true, true})); }

// Any of the tensors around the pair: filters, parameters of one norm or of both, and what makes
// gradients of one operand or of both superfluous.
TEST_P(FusedPairsTest, FrozenParameters) {
  using Patterns = std::vector<std::string>;
  for (const Patterns& freeze :
       {Patterns{"c0.*"}, Patterns{"c.*", "d.*"}, Patterns{"m.*"}, Patterns{"n.*"},
        Patterns{"m.*", "n.*"}, Patterns{"c0.*", "c.*"}, Patterns{"c0.*", "d.*"},
        Patterns{"c0.*", "c.*", "d.*"}, Patterns{"c0.*", "c.*", "d.*", "m.weight", "n.bias"}}) {
    SCOPED_TRACE(testing::PrintToString(freeze));
    ExpectSameSteps(Text({channels(), true, true}), "_BatchNormPair", freeze);
  }
}

// Evaluation, and norms that use running statistics, compute each batch norm by itself.
TEST_P(FusedPairsTest, RunningStatisticsHaveNone) {
  NetOptions options = Options();
  options.freeze = {"c0.*", "d.*", "m.*"};
  EXPECT_FALSE(IsPair(*NewNet(Text({channels(), true, true}), options)));
  options = Options();
  options.phase = TEST;
  EXPECT_FALSE(IsPair(*NewNet(Text({channels(), true, true}), options)));
}

// 24 channels fit into packs, 10 do not.
INSTANTIATE_TEST_SUITE_P(Types, FusedPairsTest, FusedNormsTest::Cases(24, 10),
                         FusedNormsTest::NameOf);

}  // namespace
}  // namespace gf
