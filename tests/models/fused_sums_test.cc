// Convolutions that sum up their results for the batch norm after them: in FP16, on GPUs.

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "tests/models/fused_norms_for_test.h"

namespace gf {
namespace {

// A residual block after a first convolution. 24 channels fit cuDNN's sums, 10 do not.
std::string Block(int channels, const std::string& inputs = kInputs) {
  const std::string sum =
      "layer { name: 'sum' type: 'Eltwise' bottom: 'n2s' bottom: 'r1' top: "
      "'sum' }";
  return inputs + Plain("c1", "x", channels, "kernel_size: 3 pad: 1 stride: 2") + Norm("n1", "c1") +
         Simple("ReLU", "r1", "n1s") + Plain("c2", "r1", channels, "kernel_size: 1") +
         Norm("n2", "c2") + sum + Simple("ReLU", "r2", "sum") + Inner("scores", "r2", 5) +
         Loss("loss", "scores");
}

NetOptions Half(bool fuse = true) {
  NetOptions options = TestOptions();
  options.compute = DType::kFP16;
  options.fuse = fuse;
  return options;
}

bool HasSums(const Net& net, const std::string& convolution) {
  for (const NetOp& op : net.ops()) {
    if (op.name == convolution) return op.tops.size() == 2;
  }
  ADD_FAILURE() << "no layer " << convolution;
  return false;
}

class FusedSumsTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (!TestDevice()->SumsInConvolutions(DType::kFP16)) {
      GTEST_SKIP() << TestDevice()->name() << " has no such convolutions";
    }
  }
};

// Of results that are computed in another order and rounded to 11 bits.
constexpr double kRounding = 4e-3;

void ExpectNear(const Values& found, const Values& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [name, values] : expected) {
    EXPECT_LT(RelativeError(found.at(name), values, 1e-3), kRounding) << name;
  }
}

void ExpectSameSteps(int channels, const std::vector<std::string>& freeze) {
  NetOptions options = Half(), apart = Half(false);
  options.freeze = apart.freeze = freeze;
  const auto fused = NewNet(Block(channels), options), split = NewNet(Block(channels), apart);
  EXPECT_TRUE(HasSums(*fused, "c1") && HasSums(*fused, "c2"));
  EXPECT_FALSE(HasSums(*split, "c1"));
  const auto whole = NewNet(Block(channels), Half(false));
  SetRandom({}, whole->parameters().get());
  CopyParameters(*whole, fused.get());
  CopyParameters(*whole, split.get());
  for (uint64_t step = 0; step < 3; ++step) {  // recorded from the second step on
    const float expected = Step(split.get(), 64, step);
    EXPECT_NEAR(Step(fused.get(), 64, step), expected, kRounding * expected);
    ExpectNear(Gradients(*fused), Gradients(*split));
    ExpectNear(States(*fused), States(*split));
  }
}

TEST_P(FusedSumsTest, ChangeResultsByRoundingOnly) { ExpectSameSteps(GetParam(), {}); }

TEST_P(FusedSumsTest, FrozenParameters) {
  for (const char* freeze : {"c1.*", "c2.*", "n1.*", "n2.bias", "c*"}) {
    SCOPED_TRACE(freeze);
    ExpectSameSteps(GetParam(), {freeze});
  }
}

TEST_P(FusedSumsTest, RepeatToTheBit) {
  Values gradients[2];
  for (Values& result : gradients) {
    NetOptions options = Half();
    options.deterministic = true;
    const auto net = NewNet(Block(GetParam()), options);
    SetRandom({}, net->parameters().get());
    Step(net.get(), 64);
    result = Gradients(*net);
  }
  EXPECT_EQ(gradients[0], gradients[1]);
}

TEST_P(FusedSumsTest, SurviveRecomputation) {
  // Results of a little more than a MiB: smaller ones are not worth it.
  const int side = GetParam() == 24 ? 150 : 232;
  const std::string inputs =
      StrCat("layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: [4, 3, ", side,
             ", ", side, "] } } }",
             "layer { name: 'y' type: 'Input' top: 'y' input_param { shape { dim: 4 } } }");
  NetOptions keeping = Half(), recomputing = Half();
  recomputing.recompute = true;
  // On a GPU, workspaces of convolutions can be larger than the results that are recomputed.
  if (Has(TestDevice()->Description(), "emulated GPU")) {
    EXPECT_LT(NewNet(Block(GetParam(), inputs), recomputing)->arena_bytes(),
              NewNet(Block(GetParam(), inputs), keeping)->arena_bytes());
  }
  keeping.deterministic = recomputing.deterministic = true;
  const auto kept = NewNet(Block(GetParam(), inputs), keeping),
             again = NewNet(Block(GetParam(), inputs), recomputing);
  EXPECT_TRUE(HasSums(*again, "c1"));
  SetRandom({}, kept->parameters().get());
  SetRandom({}, again->parameters().get());
  EXPECT_EQ(Step(kept.get(), 64), Step(again.get(), 64));
  EXPECT_EQ(Gradients(*kept), Gradients(*again));
}

TEST_P(FusedSumsTest, FrozenBatchNormsKeepTheirStatistics) {
  NetOptions options = Half();
  options.freeze = {"c1.*", "n1.*"};
  const auto net = NewNet(Block(GetParam()), options);
  EXPECT_FALSE(HasSums(*net, "c1"));
  net->InitParameters();
  const Values before = States(*net);
  EXPECT_TRUE(std::isfinite(Step(net.get(), 64)));
  const Values after = States(*net);
  EXPECT_EQ(before.at("n1.running_mean"), after.at("n1.running_mean"));
  EXPECT_NE(before.at("n2.running_mean"), after.at("n2.running_mean"));
}

TEST_P(FusedSumsTest, EvaluationAndOtherTypesHaveNone) {
  NetOptions options = Half();
  options.phase = TEST;
  EXPECT_FALSE(HasSums(*NewNet(Block(GetParam()), options), "c1"));
  EXPECT_FALSE(HasSums(*NewNet(Block(GetParam()), TestOptions()), "c1"));
}

INSTANTIATE_TEST_SUITE_P(Channels, FusedSumsTest, testing::Values(24, 10));

}  // namespace
}  // namespace gf
