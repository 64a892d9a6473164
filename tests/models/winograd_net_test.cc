// Nets whose convolutions our own kernels for Winograd's algorithm compute equal nets of oneDNN.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/simd.h"
#include "layers/cpu/winograd_choice.h"
#include "tests/models/fused_norms_for_test.h"

namespace gf {
namespace {

constexpr double kRounding = 1e-5;

std::string Text() {
  return kInputs + Conv("c1", "x", 24) + Simple("ReLU", "r1", "c1") +
         Plain("c2", "r1", 20, "kernel_size: 5 pad: 2") + Norm("n2", "c2") +
         Simple("Pooling", "p2", "n2s", "pooling_param { kernel_size: 2 stride: 2 }") +
         Conv("c3", "p2", 40) + Plain("c4", "c3", 24, "kernel_size: 3 stride: 2 pad: 1") +
         Inner("i4", "c4", 5) + Loss("loss", "i4");
}

std::unique_ptr<Net> NewNetOf(WinogradWay way, const NetOptions& options) {
  WayOfWinograd() = way;
  auto net = NewNet(Text(), options);
  WayOfWinograd() = WinogradWay::kFaster;
  return net;
}

bool IsOwn(const Net& net, const std::string& layer) {
  for (const NetOp& op : net.ops()) {
    if (op.name == layer) return op.how == "own Winograd";
  }
  return false;
}

class WinogradNetTest : public testing::Test {
 protected:
  void SetUp() override {
    if (BestIsa() == Isa::kBaseline) GTEST_SKIP() << "this processor has no AVX2";
  }
};

TEST_F(WinogradNetTest, TrainsAsWithOneDnn) {
  for (const std::vector<std::string>& freeze :
       {std::vector<std::string>{}, std::vector<std::string>{"c1.*"},
        std::vector<std::string>{"c2.*"}, std::vector<std::string>{"c1.*", "c2.*", "c3.*"}}) {
    SCOPED_TRACE(testing::PrintToString(freeze));
    NetOptions options = TestOptions();
    options.freeze = freeze;
    const auto own = NewNetOf(WinogradWay::kOwn, options),
               library = NewNetOf(WinogradWay::kLibrary, options);
    for (const char* layer : {"c1", "c2", "c3", "c4"}) EXPECT_TRUE(IsOwn(*own, layer)) << layer;
    EXPECT_FALSE(IsOwn(*library, "c1"));
    own->InitParameters();
    CopyParameters(*own, library.get());
    const float loss = Step(library.get());
    EXPECT_NEAR(Step(own.get()), loss, kRounding * loss);
    const Values gradients = Gradients(*own), expected = Gradients(*library);
    ASSERT_EQ(gradients.size(), expected.size());
    for (const auto& [name, values] : expected) {
      EXPECT_LT(RelativeError(gradients.at(name), values, 1e-3), kRounding) << name;
    }
  }
}

// A net for evaluation keeps transformed filters, until the training changes the parameters. It may
// compute them in another way than the training does, and reads the order of the other's filters.
TEST_F(WinogradNetTest, EvaluatesWhatWasTrained) {
  for (const WinogradWay training : {WinogradWay::kOwn, WinogradWay::kLibrary}) {
    const auto train = NewNetOf(training, TestOptions());
    train->InitParameters();
    NetOptions options = TestOptions(TEST);
    options.parameters = train->parameters();
    const auto own = NewNetOf(WinogradWay::kOwn, options),
               library = NewNetOf(WinogradWay::kLibrary, options);
    EXPECT_TRUE(training == WinogradWay::kLibrary || IsOwn(*own, "c2"));
    std::vector<float> last;
    for (uint64_t seed = 1; seed < 4; ++seed) {
      RandomParameters how;
      how.seed = seed;
      SetRandom(how, train->parameters().get());
      train->parameters()->BumpVersion();
      std::vector<float> logits[2];
      for (int i = 0; i < 2; ++i) {
        Net* const net = i == 0 ? own.get() : library.get();
        net->Forward(RandomBatch(net->input_shape(), 5));
        logits[i] = net->Logits();
      }
      EXPECT_LT(RelativeError(logits[0], logits[1]), kRounding);
      EXPECT_NE(logits[0], last);
      last = logits[0];
    }
  }
}

}  // namespace
}  // namespace gf
