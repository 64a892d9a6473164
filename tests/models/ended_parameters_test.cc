// Parameters whose training has ended: Net::EndParameters.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "tests/models/layers_for_test.h"

namespace gf {
namespace {

std::vector<int> Entries(const Net& net, const std::set<std::string>& names) {
  std::vector<int> found;
  const std::vector<PoolEntry>& entries = net.parameters()->layout().entries();
  for (size_t i = 0; i < entries.size(); ++i) {
    if (names.count(entries[i].name)) found.push_back(static_cast<int>(i));
  }
  EXPECT_EQ(found.size(), names.size());
  return found;
}

std::set<std::string> OpsThatRanBackward(const Net& net) {
  std::set<std::string> names;
  for (const NetOp& op : net.ops()) {
    if (op.backward_seconds > 0) names.insert(op.name);
  }
  return names;
}

// After `names` have ended: zeros for them, and the same bits as before for all others. Twice,
// because devices record a pass after the first one; then with all parameters again.
void ExpectZerosFor(const std::string& text, const NetOptions& options,
                    const std::set<std::string>& names) {
  const auto net = NewNet(text, options);
  SetRandom({}, net->parameters().get());
  for (int i = 0; i < 3; ++i) Step(net.get());
  const Values expected = Gradients(*net);
  net->EndParameters(Entries(*net, names));
  for (int i = 0; i < 3; ++i) {
    Step(net.get());
    for (const auto& [name, values] : Gradients(*net)) {
      const std::vector<float> zeros(values.size());
      EXPECT_NE(expected.at(name), zeros) << name << " tests nothing";
      EXPECT_EQ(values, names.count(name) ? zeros : expected.at(name)) << name;
    }
  }
  net->EndParameters({});
  Step(net.get());
  EXPECT_EQ(Gradients(*net), expected);
}

// The gradients of parameters do not depend on moving statistics.
std::string Text() {
  return kInputs + Conv("c1", "x", 19) + Simple("BatchNorm", "n1", "c1") +
         Simple("Scale", "s1", "n1", "scale_param { bias_term: true }") +
         Simple("ReLU", "r1", "s1") + Conv("c2", "r1", 19) + Simple("ReLU", "r2", "c2") +
         Inner("i3", "r2", 30) + Inner("i4", "i3", 5) + Loss("loss", "i4");
}

TEST(EndedParametersTest, TheirGradientsAreZeroAndAllOthersStay) {
  for (DType compute : ComputeTypes()) {
    NetOptions options = TestOptions();
    options.compute = compute;
    for (const std::set<std::string>& names : std::vector<std::set<std::string>>{
             {"c1.weight", "c1.bias"},
             {"c1.weight", "c1.bias", "n1.weight", "n1.bias"},
             {"c1.weight", "c1.bias", "n1.weight", "n1.bias", "c2.weight", "c2.bias"},
             {"c1.weight", "c1.bias", "n1.weight", "n1.bias", "c2.weight", "c2.bias", "i3.weight",
              "i3.bias"},
             {"c1.bias", "c2.weight", "i4.bias"}}) {
      ExpectZerosFor(Text(), options, names);
    }
  }
}

// c2 computes no gradient of r1 either: in its place the gradient of an earlier step is left.
TEST(EndedParametersTest, WhatOnlyTheyNeedIsLeftOut) {
  NetOptions options = TestOptions();
  options.fuse = options.reuse_memory = false;
  const auto net = NewNet(Text(), options);
  SetRandom({}, net->parameters().get());
  net->EnableTimes();
  Step(net.get());
  const std::vector<float> before = net->BlobGradient("r1");
  const auto expect = [&](const std::set<std::string>& ended, const std::set<std::string>& ran,
                          float factor) {
    net->EndParameters(Entries(*net, ended));
    net->ResetTimes();
    Step(net.get(), /*loss_scale=*/2);
    for (const char* layer : {"c1", "n1", "r1", "c2", "r2", "i3", "i4"}) {
      EXPECT_EQ(OpsThatRanBackward(*net).count(layer), ran.count(layer)) << layer;
    }
    const std::vector<float> gradient = net->BlobGradient("r1");
    for (size_t i = 0; i < before.size(); ++i) {
      ASSERT_EQ(gradient[i], factor * before[i]) << ended.size() << " ended";
    }
  };
  expect({"c1.weight", "c1.bias", "n1.weight", "n1.bias"}, {"c2", "r2", "i3", "i4"}, 1);
  // The bias needs everything.
  expect({"c1.weight", "n1.weight", "n1.bias"}, {"c1", "n1", "r1", "c2", "r2", "i3", "i4"}, 2);
  expect({"c1.weight", "c1.bias", "n1.weight", "n1.bias", "c2.weight", "c2.bias", "i3.weight",
          "i3.bias", "i4.weight", "i4.bias"},
         {"loss"}, 2);
}

// The trunk ends; a branch does, and the sum of both gradients is needed all the same.
TEST(EndedParametersTest, BranchesThatMeet) {
  const std::string text = kInputs + Conv("a", "x", 19) + Conv("b", "a", 19) +
                           "layer { name: 'e' type: 'Eltwise' bottom: 'a' bottom: 'b' top: 'e' }" +
                           Simple("ReLU", "r", "e") + Inner("i", "r", 5) + Loss("loss", "i");
  ExpectZerosFor(text, TestOptions(), {"a.weight", "a.bias"});
  ExpectZerosFor(text, TestOptions(), {"b.weight", "b.bias"});
  ExpectZerosFor(text, TestOptions(), {"a.weight", "a.bias", "b.weight", "b.bias"});
}

// A block as in ResNets, whose batch norms, sum and ReLU a GPU computes in fused kernels, then
// pooling; either side ends, or all of it.
TEST(EndedParametersTest, ResidualBlocks) {
  const std::string scale = "scale_param { bias_term: true }";
  const std::string text =
      kInputs + Conv("c0", "x", 16) + Simple("ReLU", "r0", "c0") + Conv("c1", "r0", 16) +
      Simple("BatchNorm", "b1", "c1") + Simple("Scale", "s1", "b1", scale) + Conv("c2", "r0", 16) +
      Simple("BatchNorm", "b2", "c2") + Simple("Scale", "s2", "b2", scale) +
      "layer { name: 'add' type: 'Eltwise' bottom: 's1' bottom: 's2' top: 'add' }" +
      Simple("ReLU", "r", "add") +
      Simple("Pooling", "p", "r", "pooling_param { kernel_size: 2 stride: 2 }") +
      Inner("i", "p", 5) + Loss("loss", "i");
  const std::set<std::string> c0 = {"c0.weight", "c0.bias"},
                              one = {"c1.weight", "c1.bias", "b1.weight", "b1.bias"},
                              two = {"c2.weight", "c2.bias", "b2.weight", "b2.bias"};
  for (DType compute : ComputeTypes()) {
    NetOptions options = TestOptions();
    options.compute = compute;
    for (const auto& ended : std::vector<std::vector<std::set<std::string>>>{
             {c0}, {one}, {two}, {c0, one}, {c0, two}, {one, two}, {c0, one, two}}) {
      std::set<std::string> names;
      for (const auto& part : ended) names.insert(part.begin(), part.end());
      ExpectZerosFor(text, options, names);
    }
  }
}

TEST(EndedParametersTest, BranchesWithLossesOfTheirOwn) {
  const std::string text = Branches(Conv("trunk", "x", 8), {1, 0.5f});
  ExpectZerosFor(text, TestOptions(), {"trunk.weight", "trunk.bias"});
  ExpectZerosFor(text, TestOptions(), {"branch1.weight", "branch1.bias"});
  ExpectZerosFor(text, TestOptions(),
                 {"trunk.weight", "trunk.bias", "branch1.weight", "branch1.bias"});
}

// The results of the batch norms have 1 MiB, so they are recomputed: n before b's backward pass,
// which is left out, and d reads it after that.
TEST(EndedParametersTest, WhatIsRecomputedForOthersStays) {
  const std::string text =
      "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: [16, 3, 32, 32] } } }"
      "layer { name: 'y' type: 'Input' top: 'y' input_param { shape { dim: 16 } } }" +
      Conv("a", "x", 16) + Simple("BatchNorm", "k", "a") + Conv("f", "k", 16) +
      Simple("BatchNorm", "m", "f") + Conv("c", "m", 16) + Simple("BatchNorm", "n", "c") +
      Conv("d", "n", 3) + Conv("b", "n", 3) +
      "layer { name: 'e' type: 'Eltwise' bottom: 'd' bottom: 'b' top: 'e' }" + Inner("i", "e", 5) +
      Loss("loss", "i");
  NetOptions options = TestOptions();
  const size_t bytes = NewNet(text, options)->arena_bytes();
  options.recompute = true;
  EXPECT_LT(NewNet(text, options)->arena_bytes(), bytes) << "nothing is recomputed";
  std::set<std::string> names = {"a.weight", "f.weight", "c.weight", "b.weight"};
  for (const std::string layer : {"a", "f", "c", "b"}) names.insert(layer + ".bias");
  ExpectZerosFor(text, options, names);
  names.insert({"d.weight", "d.bias"});
  ExpectZerosFor(text, options, names);
}

TEST(EndedParametersTest, SharedParametersEndTogether) {
  const auto named = [](const std::string& name, const std::string& bottom) {
    std::string layer = Conv(name, bottom, 3);
    return layer.insert(layer.rfind('}'), "param { name: 'w' } param { name: 'b' } ");
  };
  ExpectZerosFor(kInputs + Conv("c", "x", 3) + named("a", "c") + Conv("d", "a", 3) +
                     named("b", "d") + Inner("i", "b", 5) + Loss("loss", "i"),
                 TestOptions(), {"a.weight", "a.bias"});
}

}  // namespace
}  // namespace gf
