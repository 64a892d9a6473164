// The same network compiled in other ways, or in BF16, computes the same.

#include <gtest/gtest.h>

#include <cmath>

#include "tests/models/net_for_test.h"

namespace gf {
namespace {

struct Case {
  const char* net;
  int64_t batch, side;
  float bias;
  const char* last_norm;
};

struct Result {
  float loss;
  std::vector<float> logits;
  Values gradients, states;
};

Result Compute(const Case& c, const NetOptions& options) {
  const auto net = NewNet(ShippedNet(c.net, c.batch, c.side), options);
  RandomParameters how;
  how.bias = c.bias;
  how.last_norm = c.last_norm;
  SetRandom(how, net->parameters().get());
  Result result;
  result.loss = net->Forward(RandomBatch(net->input_shape(), net->classes())).Value();
  net->Backward(1, nullptr);
  result.logits = net->Logits();
  result.gradients = Gradients(*net);
  result.states = States(*net);
  return result;
}

// The usual training net, computed once for all tests of a case.
const Result& Usual(const Case& c) {
  static std::string name;
  static Result result;
  if (name != c.net) {
    result = Compute(c, TestOptions());
    name = c.net;
  }
  return result;
}

class VariantsTest : public testing::TestWithParam<Case> {};

TEST_P(VariantsTest, ReusingMemoryChangesNoBit) {
  const Result& reusing = Usual(GetParam());
  NetOptions options = TestOptions();
  options.reuse_memory = false;
  const Result keeping = Compute(GetParam(), options);
  EXPECT_EQ(reusing.loss, keeping.loss);
  EXPECT_EQ(reusing.logits, keeping.logits);
  EXPECT_EQ(reusing.states, keeping.states);
  for (const auto& entry : keeping.gradients) {
    EXPECT_EQ(RelativeError(reusing.gradients.at(entry.first), entry.second), 0) << entry.first;
  }
}

// Moving the last bit of every parameter changes gradients of ResNets by up to 3.4e-5 on a
// processor, and by more where it turns a ReLU on or off.
TEST_P(VariantsTest, FusionChangesResultsByRoundingOnly) {
  const Result& fused = Usual(GetParam());
  NetOptions options = TestOptions();
  options.fuse = false;
  const Result separate = Compute(GetParam(), options);
  EXPECT_NEAR(fused.loss, separate.loss, 1e-6 * separate.loss);
  EXPECT_LT(RelativeError(fused.logits, separate.logits), 1e-6);
  ASSERT_EQ(fused.gradients.size(), separate.gradients.size());
  const double whole = Norm(separate.gradients);
  for (const auto& entry : separate.gradients) {
    EXPECT_LT(RelativeError(fused.gradients.at(entry.first), entry.second, 1e-4 * whole), 4e-5)
        << entry.first;
  }
  for (const auto& entry : separate.states) {
    EXPECT_LT(RelativeError(fused.states.at(entry.first), entry.second), 1e-6) << entry.first;
  }
}

double Cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ab += double{a[i]} * b[i], aa += double{a[i]} * a[i], bb += double{b[i]} * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

// BF16 has 8 bits: the loss agrees to 2 %, and the gradients of large tensors (at least 1,000
// values, and not 0 but for rounding) point where the FP32 ones do (cosine > 0.93; PyTorch's own
// BF16 and FP32 gradients of alexnet_bn have 0.959 in conv1).
TEST_P(VariantsTest, BF16FollowsFP32) {
  if (ComputeTypes().size() == 1) GTEST_SKIP() << "no BF16 on this processor";
  const Result& exact = Usual(GetParam());
  NetOptions options = TestOptions();
  options.compute = DType::kBF16;
  const Result rounded = Compute(GetParam(), options);
  EXPECT_NEAR(rounded.loss, exact.loss, 0.02 * exact.loss);
  const double whole = Norm(exact.gradients);
  double worst = 1;
  for (const auto& entry : exact.gradients) {
    if (entry.second.size() < 1000 || Norm({entry}) < 1e-3 * whole) continue;
    const double cosine = Cosine(rounded.gradients.at(entry.first), entry.second);
    EXPECT_GT(cosine, 0.93) << entry.first;
    worst = std::min(worst, cosine);
  }
  std::printf("%s: loss %g in FP32, %g in BF16; worst cosine %.4f\n", GetParam().net, exact.loss,
              rounded.loss, worst);
}

INSTANTIATE_TEST_SUITE_P(
    Nets, VariantsTest,
    testing::Values(Case{"lenet", 8, 0, 0, ""}, Case{"alexnet", 2, 0, 0, ""},
                    Case{"alexnet_bn", 2, 0, 1.5f, ""}, Case{"resnet20_cifar", 32, 0, 0, "bn2"},
                    Case{"resnet50", 8, 96, 0, "bn3"}, Case{"resnet50_v2", 8, 96, 0, ""}),
    [](const testing::TestParamInfo<Case>& info) { return std::string(info.param.net); });

}  // namespace
}  // namespace gf
