// Layers that share parameters by name.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/models/layers_for_test.h"

namespace gf {
namespace {

// `layer` of layers_for_test.h with `param` entries.
std::string WithParam(std::string layer, const std::string& param) {
  return layer.insert(layer.rfind('}'), param + " ");
}

std::string Named(const std::string& layer, const std::string& weight, const std::string& bias) {
  return WithParam(layer, StrCat("param { name: '", weight, "' } param { name: '", bias, "' }"));
}

// Three convolutions in a row and two inner products side by side; each group shares its
// parameters, or has its own. Each of these inner products reads one that is never shared: sharing
// would change the order in which they read the elements of images, and with it the rounding.
std::string Text(bool shared) {
  const auto own = [&](const std::string& layer, const char* name) {
    return shared ? Named(layer, StrCat(name, "_w"), StrCat(name, "_b")) : layer;
  };
  return kInputs + Conv("first", "x", 19) + own(Conv("c1", "first", 19), "c") +
         Simple("ReLU", "r1", "c1") + own(Conv("c2", "r1", 19), "c") + Simple("ReLU", "r2", "c2") +
         own(Conv("c3", "r2", 19), "c") + Inner("f1", "c3", 7) + own(Inner("i1", "f1", 5), "i") +
         Loss("l1", "i1") + Inner("f2", "r2", 7) + own(Inner("i2", "f2", 5), "i") +
         Loss("l2", "i2", 0.5f);
}

class SharedParametersTest : public testing::TestWithParam<bool> {};

TEST_P(SharedParametersTest, TheGradientIsTheSumOverTheLayers) {
  for (DType compute : ComputeTypes()) {
    NetOptions options = TestOptions();
    options.compute = compute;
    options.fuse = options.reuse_memory = GetParam();
    const auto shared = NewNet(Text(true), options), own = NewNet(Text(false), options);
    shared->InitParameters();
    const Values values = Parameters(*shared);
    ASSERT_EQ(values.size(), 10u);
    for (const PoolEntry& entry : own->parameters()->layout().entries()) {
      std::string name = entry.name;
      for (const char* other : {"c2", "c3"}) {
        if (entry.layer == other) name.replace(0, 2, "c1");
      }
      if (entry.layer == "i2") name.replace(0, 2, "i1");
      own->parameters()->Import(values.at(name), entry, own->parameters()->master());
    }
    own->parameters()->SyncCompute();
    // Twice: the second pass must not add to what the first one left.
    float loss = 0, expected_loss = 0;
    for (int i = 0; i < 2; ++i) {
      loss = Step(shared.get());
      expected_loss = Step(own.get());
    }
    EXPECT_NEAR(loss, expected_loss, 1e-6 * expected_loss);
    const Values gradients = Gradients(*shared), parts = Gradients(*own);
    for (const auto& [name, values] : gradients) {
      std::vector<float> sum(values.size());
      for (const auto& [part, numbers] : parts) {
        const bool same = name[0] != 'f' && part[0] == name[0] && part.substr(2) == name.substr(2);
        if (part != name && !same) continue;
        for (size_t i = 0; i < sum.size(); ++i) sum[i] += numbers[i];
      }
      EXPECT_LT(RelativeError(values, sum), compute == DType::kFP32 ? 1e-6 : 1e-2) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fused, SharedParametersTest, testing::Bool());

TEST(SharingByNameTest, TheFirstLayerOwnsTheParameterAndAnnouncesIt) {
  const auto net = NewNet(Text(true));
  std::vector<std::string> names, announced;
  for (const PoolEntry& entry : net->parameters()->layout().entries()) names.push_back(entry.name);
  EXPECT_EQ(names, (std::vector<std::string>{"f2.weight", "f2.bias", "i1.weight", "i1.bias",
                                             "f1.weight", "f1.bias", "c1.weight", "c1.bias",
                                             "first.weight", "first.bias"}));
  net->InitParameters();
  net->Forward(RandomBatch(net->input_shape(), 5));
  net->Backward(1, [&](const std::vector<int>& entries) {
    for (int entry : entries) announced.push_back(names[entry]);
  });
  EXPECT_EQ(announced, names);
  int64_t count = 0;
  for (const NetOp& op : net->ops()) count += op.parameter_count;
  EXPECT_EQ(count, net->parameters()->layout().parameter_count());
}

// The owner then does not run backward, another layer does.
TEST(SharingByNameTest, TheOwnerNeedsNoLoss) {
  const std::string text = kInputs + Named(Inner("i1", "x", 5), "w", "b") +
                           Simple("Softmax", "unused", "i1") +
                           Named(Inner("i2", "x", 5), "w", "b") + Loss("loss", "i2");
  const auto shared = NewNet(text),
             own = NewNet(kInputs + Inner("i1", "x", 5) + Loss("loss", "i1"));
  shared->InitParameters();
  CopyParameters(*shared, own.get());
  // Shared matrices have another order than own ones, and so have sums.
  EXPECT_NEAR(Step(shared.get()), Step(own.get()), 1e-5);
  const Values gradients = Gradients(*shared), expected = Gradients(*own);
  ASSERT_EQ(gradients.size(), expected.size());
  for (const auto& [name, values] : gradients) {
    EXPECT_LT(RelativeError(values, expected.at(name)), 1e-5) << name;
  }
}

// The filters of both have one shape, and one order in the pool.
TEST(SharingByNameTest, ADeconvolutionSharesTheFiltersOfAConvolution) {
  const auto text = [](const std::string& param) {
    return kInputs + WithParam(Conv("c", "x", 19), param) +
           Simple("Deconvolution", "up", "c",
                  param + "convolution_param { num_output: 3 kernel_size: 3 pad: 1 }") +
           Inner("ip", "up", 5) + Loss("loss", "ip");
  };
  const auto shared = NewNet(text("param { name: 'w' } ")), own = NewNet(text(""));
  shared->InitParameters();
  const Values values = Parameters(*shared);
  for (const PoolEntry& entry : own->parameters()->layout().entries()) {
    const std::string name = entry.name == "up.weight" ? "c.weight" : entry.name;
    own->parameters()->Import(values.at(name), entry, own->parameters()->master());
  }
  own->parameters()->SyncCompute();
  const float loss = Step(shared.get()), expected_loss = Step(own.get());
  EXPECT_NEAR(loss, expected_loss, 1e-6 * expected_loss);
  const Values gradients = Gradients(*shared), parts = Gradients(*own);
  std::vector<float> sum = parts.at("c.weight");
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += parts.at("up.weight")[i];
  EXPECT_LT(RelativeError(gradients.at("c.weight"), sum), 1e-6);
  EXPECT_LT(RelativeError(gradients.at("up.bias"), parts.at("up.bias")), 1e-6);
}

TEST(SharingByNameTest, AnEvaluationNetSharesThemToo) {
  const auto train = NewNet(Text(true));
  train->InitParameters();
  NetOptions options = TestOptions(TEST);
  const auto alone = NewNet(Text(true), options);
  options.parameters = train->parameters();
  const auto test = NewNet(Text(true), options);
  CopyParameters(*train, alone.get());
  const Batch batch = RandomBatch(test->input_shape(), 5);
  test->Forward(batch);
  alone->Forward(batch);
  EXPECT_LT(RelativeError(test->Logits(), alone->Logits()), 1e-6);
}

// The first layer of the file gives the parameter its name even where its phase leaves it out.
TEST(SharingByNameTest, AnOwnerOfOnePhaseNamesTheParameterInBoth) {
  const std::string only =
      WithParam(Inner("i1", "x", 5), "param { name: 'w' } include { phase: TRAIN }");
  const std::string text = kInputs + only +
                           Loss("l1", "i1", 0.5f).insert(7, " include { phase: TRAIN }") +
                           WithParam(Inner("i2", "x", 5), "param { name: 'w' }") + Loss("l2", "i2");
  const auto train = NewNet(text);
  NetOptions options = TestOptions(TEST);
  const auto alone = NewNet(text, options);
  options.parameters = train->parameters();
  NewNet(text, options);
  EXPECT_GE(train->parameters()->layout().Find("i1.weight"), 0);
  EXPECT_GE(alone->parameters()->layout().Find("i1.weight"), 0);
}

// On GPUs, weights that read images have the order of channels-last images.
TEST(SharingByNameTest, BottomsMayHaveDifferentLayouts) {
  const std::string text =
      kInputs + Conv("c", "x", 6) + Named(Inner("i1", "c", 5), "w", "b") + Loss("l1", "i1") +
      "layer { name: 'f' type: 'Reshape' bottom: 'c' top: 'f' reshape_param { shape { dim: [0, 4, "
      "96] } } }" +
      Named(Inner("i2", "f", 5), "w", "b") + Loss("l2", "i2");
  const auto net = NewNet(text);
  net->InitParameters();
  Step(net.get());
  const std::string once = kInputs + Conv("c", "x", 6) + Inner("i1", "c", 5) + Loss("l1", "i1", 2);
  const auto expected = NewNet(once);
  CopyParameters(*net, expected.get());
  Step(expected.get());
  const Values gradients = Gradients(*net);
  for (const auto& [name, values] : Gradients(*expected)) {
    EXPECT_LT(RelativeError(gradients.at(name), values), 1e-5) << name;
  }
}

TEST(SharingByNameTest, MistakesAreRefused) {
  const std::string first = WithParam(Inner("i1", "x", 5), "param { name: 'w' lr_mult: 2 }");
  EXPECT_EQ(Error(first + WithParam(Inner("i2", "x", 5), "param { name: 'w' }")), "(no error)");
  EXPECT_TRUE(Has(Error(first + WithParam(Inner("i2", "i1", 5), "param { name: 'w' }")),
                  "layer \"i2\" (InnerProduct): param \"w\" is of 5x5, but of 5x192 in layer "
                  "\"i1\"; layers can share a parameter of one shape only"));
  EXPECT_TRUE(
      Has(Error(first + WithParam(Inner("i2", "x", 5), "param { name: 'w' lr_mult: 1 }")),
          "layer \"i2\" (InnerProduct): param \"w\" has lr_mult 1, but 2 in layer \"i1\", with "
          "which it is shared; they must be equal"));
  EXPECT_TRUE(
      Has(Error(first + WithParam(Inner("i2", "x", 5), "param { name: 'w' decay_mult: 0 }")),
          "has decay_mult 0, but 1 in layer \"i1\""));
  const auto grouped = [](const std::string& name, const std::string& bottom, int groups) {
    return StrCat("layer { name: '", name, "' type: 'Convolution' bottom: '", bottom, "' top: '",
                  name, "' param { name: 'w' } convolution_param { num_output: 6 kernel_size: 1 ",
                  "group: ", groups, " } }");
  };
  EXPECT_TRUE(Has(Error(grouped("c1", "x", 1) + grouped("c2", "c1", 2)),
                  "layer \"c2\" (Convolution): param \"w\" has 2 groups, but 1 in layer \"c1\""));
  EXPECT_TRUE(Has(Error(WithParam(Simple("ReLU", "r", "x"), "param { name: 'w' }")),
                  "layer \"r\" (ReLU): param \"w\" is number 1, but the layer has only 0 "
                  "parameters; remove it"));
  EXPECT_TRUE(Has(Error(WithParam(Simple("BatchNorm", "n", "x"), "param { name: 'm' }")),
                  "layer \"n\" (BatchNorm): param \"m\": parameters and statistics of a "
                  "BatchNorm cannot be shared by name; remove it"));
}

}  // namespace
}  // namespace gf
