// Parameters that keep their values.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/models/layers_for_test.h"

namespace gf {
namespace {

// A trunk with statistics, a block, and a head. `fixed`: the trunk uses its running statistics.
std::string Text(bool fixed = false) {
  return kInputs + Conv("c1", "x", 19) +
         Simple("BatchNorm", "n1", "c1",
                fixed ? "batch_norm_param { use_global_stats: true }" : "") +
         Simple("Scale", "s1", "n1", "scale_param { bias_term: true }") +
         Simple("ReLU", "r1", "s1") + Conv("c2", "r1", 19) + Simple("BatchNorm", "n2", "c2") +
         Inner("i3", "n2", 5) + Loss("loss", "i3");
}

NetOptions Freezing(std::vector<std::string> patterns) {
  NetOptions options = TestOptions();
  options.freeze = std::move(patterns);
  return options;
}

std::vector<std::string> Names(const PoolLayout& layout) {
  std::vector<std::string> names;
  for (const PoolEntry& entry : layout.entries()) names.push_back(entry.name);
  return names;
}

// Fills both nets with the same random values. `net` freezes some parameters, `whole` none.
void Fill(Net* net, Net* whole) {
  SetRandom({}, whole->parameters().get());
  CopyParameters(*whole, net);
}

TEST(FreezeTest, NothingBelowTheLowestTrainedParameterRunsBackward) {
  for (DType compute : ComputeTypes()) {
    NetOptions options = Freezing({"c1.*", "n1.*"});
    options.compute = compute;
    const auto net = NewNet(Text(), options);
    EXPECT_EQ(Names(net->parameters()->layout()),
              (std::vector<std::string>{"i3.weight", "i3.bias", "c2.weight", "c2.bias"}));
    EXPECT_EQ(Names(net->parameters()->frozen_layout()),
              (std::vector<std::string>{"n1.weight", "n1.bias", "c1.weight", "c1.bias"}));
    options.freeze.clear();
    const auto whole = NewNet(Text(/*fixed=*/true), options);
    Fill(net.get(), whole.get());
    EXPECT_EQ(Step(net.get()), Step(whole.get()));
    const Values gradients = Gradients(*net), expected = Gradients(*whole);
    ASSERT_EQ(gradients.size(), 4u);
    for (const auto& [name, values] : gradients) EXPECT_EQ(values, expected.at(name)) << name;
    // The statistics of the frozen batch norm stay, those of the other move.
    EXPECT_EQ(States(*net), States(*whole));
    for (const PoolEntry& entry : net->parameters()->state_layout().entries()) {
      EXPECT_EQ(entry.fixed, entry.layer == "n1") << entry.name;
    }
    for (const NetOp& op : net->ops()) {
      // Of c2, the gradient of the weights only.
      const int64_t expected_flops = op.name == "c1" ? 0 : op.forward_flops;
      if (op.type == "Convolution") {
        EXPECT_EQ(op.backward_flops, expected_flops) << op.name;
      }
    }
  }
}

// Whether or not the sum is merged into the batch norm.
TEST(FreezeTest, AFrozenBranchBesideATrainedOneKeepsItsStatistics) {
  const std::string text = kInputs + Conv("a", "x", 19) + Simple("BatchNorm", "n", "a") +
                           Conv("b", "x", 19) +
                           "layer { name: 'e' type: 'Eltwise' bottom: 'n' bottom: 'b' top: 'e' }" +
                           Simple("ReLU", "r", "e") + Inner("i", "r", 5) + Loss("loss", "i");
  NetOptions options = Freezing({"a.*"});
  const auto fused = NewNet(text, options);
  options.fuse = false;
  const auto split = NewNet(text, options), whole = NewNet(text);
  EXPECT_LT(fused->ops().size(), split->ops().size());
  Fill(fused.get(), whole.get());
  CopyParameters(*whole, split.get());
  const Values before = States(*fused);
  const float loss = Step(split.get());
  EXPECT_NEAR(Step(fused.get()), loss, 1e-5 * loss);
  const Values gradients = Gradients(*fused), expected = Gradients(*split);
  for (const auto& [name, values] : expected) {
    EXPECT_LT(RelativeError(gradients.at(name), values), 1e-5) << name;
  }
  for (const Net* net : {fused.get(), split.get()}) {
    EXPECT_EQ(States(*net).at("n.running_mean"), before.at("n.running_mean"));
  }
}

// A mistake in a net has the same message with and without `freeze`.
TEST(FreezeTest, ChangesNoMessage) {
  const std::string swapped =
      kInputs + Conv("c1", "x", 3) + Inner("i", "c1", 5) +
      "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'y' bottom: 'i' top: 'loss' }";
  const std::string message = ErrorOf([&] { NewNet(swapped); });
  EXPECT_TRUE(Has(message, "holds labels, expected numbers")) << message;
  EXPECT_EQ(ErrorOf([&] { NewNet(swapped, Freezing({"c1.*"})); }), message);
}

TEST(FreezeTest, AFrozenLayerPassesGradientsOn) {
  const auto net = NewNet(Text(), Freezing({"c2.weight", "n1.weight"})), whole = NewNet(Text());
  Fill(net.get(), whole.get());
  EXPECT_EQ(Step(net.get()), Step(whole.get()));
  const Values gradients = Gradients(*net), expected = Gradients(*whole);
  EXPECT_EQ(gradients.size(), expected.size() - 2);
  for (const auto& [name, values] : gradients) EXPECT_EQ(values, expected.at(name)) << name;
}

// What it does not write has no place: the gradients of its parameters are null.
TEST(FreezeTest, AFrozenLayerAboveATrainedOneComputesNoGradientOfItsOwn) {
  // The last layers: a depthwise convolution of our own loops, a deconvolution, an inner product of
  // our own loops, and one on oneDNN.
  const std::string text = kInputs + Conv("c1", "x", 20) + Conv("c2", "c1", 20) +
                           Simple("Convolution", "w2", "c2",
                                  "convolution_param { num_output: 40 group: 20 kernel_size: 3 "
                                  "pad: 1 weight_filler { type: 'msra' } }") +
                           Simple("Deconvolution", "d3", "w2",
                                  "convolution_param { num_output: 20 kernel_size: 3 pad: 1 "
                                  "weight_filler { type: 'msra' } }") +
                           Inner("i4", "d3", 900) + Inner("i5", "i4", 5) + Loss("loss", "i5");
  for (DType compute : ComputeTypes()) {
    NetOptions options = Freezing({"c2.*", "w2.*", "d3.*", "i4.*", "i5.*"});
    options.compute = compute;
    const auto net = NewNet(text, options);
    options.freeze.clear();
    const auto whole = NewNet(text, options);
    Fill(net.get(), whole.get());
    EXPECT_EQ(Step(net.get()), Step(whole.get()));
    const Values gradients = Gradients(*net), expected = Gradients(*whole);
    ASSERT_EQ(gradients.size(), 2u);
    for (const auto& [name, values] : gradients) {
      EXPECT_LT(RelativeError(values, expected.at(name)), 1e-6) << name;
    }
    if (TestDevice()->name() == "cuda") continue;  // which computes them all the same
    for (const NetOp& op : net->ops()) {
      if (op.type == "Convolution" || op.type == "Deconvolution" || op.type == "InnerProduct") {
        EXPECT_EQ(op.backward_flops, op.forward_flops) << op.name;
      }
    }
  }
}

TEST(FreezeTest, FrozenParametersAreFilledAndEvaluated) {
  const auto net = NewNet(Text(), Freezing({"c1.*"})), whole = NewNet(Text());
  net->InitParameters();
  whole->InitParameters();
  const ParameterStore& store = *net->parameters();
  for (const PoolEntry& entry : store.frozen_layout().entries()) {
    EXPECT_EQ(store.Export(store.frozen_master(), entry), Parameters(*whole).at(entry.name));
  }
  NetOptions options = TestOptions(TEST);
  options.parameters = net->parameters();
  const auto test = NewNet(Text(), options);
  options.parameters = whole->parameters();
  const auto expected = NewNet(Text(), options);
  const Batch batch = RandomBatch(test->input_shape(), 5);
  test->Forward(batch);
  expected->Forward(batch);
  EXPECT_EQ(test->Logits(), expected->Logits());
}

TEST(FreezeTest, SharedParametersFreezeTogether) {
  const auto named = [](const std::string& name, const std::string& bottom) {
    std::string layer = Conv(name, bottom, 3);
    return layer.insert(layer.rfind('}'), "param { name: 'w' } param { name: 'b' } ");
  };
  const auto net =
      NewNet(kInputs + named("a", "x") + named("b", "a") + Inner("i", "b", 5) + Loss("loss", "i"),
             Freezing({"a.*"}));
  EXPECT_EQ(Names(net->parameters()->layout()), (std::vector<std::string>{"i.weight", "i.bias"}));
  net->InitParameters();
  EXPECT_GT(Step(net.get()), 0);
}

TEST(FreezeTest, MistakesAreRefused) {
  EXPECT_TRUE(Has(ErrorOf([] {
                    NewNet(Text(), Freezing({"c1.*", "c9.*"}));
                  }),
                  "freeze[1]: \"c9.*\" fits none of the net's 8 parameters"));
  EXPECT_EQ(ErrorOf([] { NewNet(Text(), Freezing({"*"})); }),
            "freeze: fits all parameters of the net: nothing is left to train");
}

}  // namespace
}  // namespace gf
