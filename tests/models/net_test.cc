// What a net promises whatever its layers are.

#include "models/net.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/models/net_for_test.h"

namespace gf {
namespace {

constexpr char kInputs[] =
    "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: [4, 3, 8, 8] } } }"
    "layer { name: 'y' type: 'Input' top: 'y' input_param { shape { dim: 4 } } }";

std::string Inner(const std::string& name, const std::string& bottom, int outputs) {
  return StrCat("layer { name: '", name, "' type: 'InnerProduct' bottom: '", bottom, "' top: '",
                name, "' inner_product_param { num_output: ", outputs,
                " weight_filler { type: 'xavier' } } }");
}

std::string Conv(const std::string& name, const std::string& bottom, int outputs) {
  return StrCat("layer { name: '", name, "' type: 'Convolution' bottom: '", bottom, "' top: '",
                name, "' convolution_param { num_output: ", outputs,
                " kernel_size: 3 pad: 1 weight_filler { type: 'msra' } } }");
}

std::string Simple(const std::string& type, const std::string& name, const std::string& bottom,
                   const std::string& more = "") {
  return StrCat("layer { name: '", name, "' type: '", type, "' bottom: '", bottom, "' top: '", name,
                "' ", more, " }");
}

std::string Loss(const std::string& name, const std::string& scores, float weight = 1) {
  return StrCat("layer { name: '", name, "' type: 'SoftmaxWithLoss' bottom: '", scores,
                "' bottom: 'y' top: '", name, "' loss_weight: ", weight, " }");
}

float Step(Net* net, float loss_scale = 1, uint64_t sequence = 0) {
  const float loss = net->Forward(RandomBatch(net->input_shape(), 5), sequence);
  net->Backward(loss_scale, nullptr);
  return loss;
}

std::string Error(const std::string& layers, const NetOptions& options = TestOptions()) {
  return ErrorOf([&] { NewNet(kInputs + layers, options); });
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A trunk with `readers` branches, each with its loss.
std::string Branches(const std::string& trunk, const std::vector<float>& weights) {
  std::string text = kInputs + trunk;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    text += Inner(StrCat("branch", i), "trunk", 5) +
            Loss(StrCat("loss", i), StrCat("branch", i), weights[i]);
  }
  return text;
}

class ReadersTest : public testing::TestWithParam<std::tuple<std::string, bool>> {};

TEST_P(ReadersTest, TheGradientOfABlobIsTheSumOverItsReaders) {
  const std::string& trunk = std::get<0>(GetParam());
  NetOptions options = TestOptions();
  options.fuse = options.reuse_memory = std::get<1>(GetParam());
  const auto all = NewNet(Branches(trunk, {0.5f, 1, 2, 0.25f, 4}), options);
  all->InitParameters();
  const float loss = Step(all.get());
  const Values gradients = Gradients(*all);

  Values sum;
  double loss_sum = 0;
  std::vector<float> blob;
  const std::vector<float> weights = {0.5f, 1, 2, 0.25f, 4};
  for (size_t i = 0; i < weights.size(); ++i) {
    std::vector<float> one(weights.size());
    one[i] = weights[i];
    const auto net = NewNet(Branches(trunk, one), options);
    CopyParameters(*all, net.get());
    loss_sum += Step(net.get());
    for (const auto& entry : Gradients(*net)) {
      auto& total = sum[entry.first];
      total.resize(entry.second.size());
      for (size_t k = 0; k < total.size(); ++k) total[k] += entry.second[k];
    }
    if (options.reuse_memory) continue;
    const auto values = net->BlobGradient("trunk");
    blob.resize(values.size());
    for (size_t k = 0; k < blob.size(); ++k) blob[k] += values[k];
  }
  EXPECT_NEAR(loss, loss_sum, 1e-5 * loss_sum);
  ASSERT_EQ(sum.size(), gradients.size());
  for (const auto& entry : gradients) {
    EXPECT_GT(Norm({entry}), 0) << entry.first;
    // (The gradient of a bias before a batch norm is 0 but for rounding.)
    EXPECT_LT(RelativeError(entry.second, sum.at(entry.first), 1e-4 * Norm(sum)), 1e-4)
        << entry.first;
  }
  if (!options.reuse_memory) {
    EXPECT_LT(RelativeError(all->BlobGradient("trunk"), blob), 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Trunks, ReadersTest,
    testing::Combine(
        testing::Values(
            Inner("trunk", "x", 24), Conv("trunk", "x", 20),
            Conv("c", "x", 20) + Simple("BatchNorm", "n", "c") +
                Simple("Scale", "trunk", "n", "scale_param { bias_term: true }"),
            Conv("c", "x", 20) + Simple("Sigmoid", "s", "c") +
                "layer { name: 'trunk' type: 'Eltwise' bottom: 'c' bottom: 's' top: 'trunk' }",
            Conv("c", "x", 20) + Simple("ReLU", "trunk", "c"),
            Conv("c", "x", 20) +
                Simple("Pooling", "trunk", "c", "pooling_param { kernel_size: 2 }"),
            Conv("c", "x", 20) + Simple("Flatten", "trunk", "c")),
        testing::Bool()));

TEST(NetTest, ForwardReturnsTheWeightedSumOfTheLossesAndScalarsNamesThem) {
  const auto net = NewNet(Branches(Inner("trunk", "x", 8), {0.5f, 3}));
  net->InitParameters();
  const float loss = Step(net.get());
  const auto scalars = net->Scalars();
  ASSERT_EQ(scalars.size(), 2u);
  EXPECT_EQ(scalars[0].first, "loss0");
  EXPECT_EQ(scalars[1].first, "loss1");
  EXPECT_NEAR(loss, 0.5 * scalars[0].second + 3 * scalars[1].second, 1e-5);
  EXPECT_EQ(net->Logits(), net->Blob("branch1"));
}

TEST(NetTest, ALossThatAnotherLayerReadsStillCounts) {
  const std::string net = kInputs + Inner("ip", "x", 5) + Loss("loss", "ip") +
                          "layer { name: 'hush' type: 'Silence' bottom: 'loss' }" +
                          // Work after the loss whose results could lie where the loss was.
                          Conv("c", "x", 1) +
                          Simple("Pooling", "p", "c", "pooling_param { global_pooling: true }") +
                          Simple("Sigmoid", "q", "p") + Simple("TanH", "r", "q");
  const auto with = NewNet(net);
  const auto without = NewNet(kInputs + Inner("ip", "x", 5) + Loss("loss", "ip"));
  with->InitParameters();
  without->InitParameters();
  EXPECT_EQ(Step(with.get()), Step(without.get()));
}

TEST(NetTest, ParametersThatNoLossDependsOnHaveZeroGradientsAndAreReported) {
  const auto net =
      NewNet(kInputs + Inner("used", "x", 5) + Loss("loss", "used") + Conv("idle", "x", 6) +
             Simple("ReLU", "idle_relu", "idle") + Inner("idle_too", "idle_relu", 3));
  net->InitParameters();
  std::vector<int> reported;
  net->Forward(RandomBatch(net->input_shape(), 5));
  net->Backward(1, [&](const std::vector<int>& entries) {
    reported.insert(reported.end(), entries.begin(), entries.end());
  });
  ASSERT_EQ(reported.size(), 6u);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(reported[i], i);
  const Values gradients = Gradients(*net);
  EXPECT_GT(Norm({*gradients.find("used.weight")}), 0);
  for (const char* name : {"idle.weight", "idle.bias", "idle_too.weight"}) {
    EXPECT_EQ(Norm({*gradients.find(name)}), 0) << name;
  }
}

TEST(NetTest, BackwardReportsEachEntryOnceInPoolOrderWithItsGradientReady) {
  const auto net = NewNet(ShippedNet("resnet20_cifar", 2), TestOptions());
  net->InitParameters();
  const ParameterStore& store = *net->parameters();
  const Batch batch = RandomBatch(net->input_shape(), 10);
  net->Forward(batch);
  net->Backward(1, nullptr);
  const Values expected = Gradients(*net);
  TestDevice()->Zero(store.gradient().data, store.gradient().desc.bytes(),
                     TestDevice()->compute_stream());
  net->Forward(batch);
  int next = 0;
  net->Backward(1, [&](const std::vector<int>& entries) {
    for (int entry : entries) {
      EXPECT_EQ(entry, next++);
      const PoolEntry& e = store.layout().entries()[entry];
      EXPECT_EQ(store.Export(store.gradient(), e), expected.at(e.name)) << e.name;
    }
  });
  EXPECT_EQ(next, static_cast<int>(store.layout().entries().size()));
}

TEST(NetTest, GradientsScaleWithTheLossScale) {
  const auto net = NewNet(Branches(Conv("trunk", "x", 16), {1, 2}));
  net->InitParameters();
  Step(net.get());
  const Values once = Gradients(*net);
  Step(net.get(), 1024);
  for (const auto& entry : Gradients(*net)) {
    for (size_t i = 0; i < entry.second.size(); ++i) {
      ASSERT_EQ(entry.second[i], 1024 * once.at(entry.first)[i]) << entry.first;
    }
  }
}

TEST(NetTest, TwoRunsHaveTheSameBits) {
  for (DType compute : {DType::kFP32, DType::kBF16}) {
    NetOptions options = TestOptions();
    options.compute = compute;
    options.deterministic = true;
    Values gradients[2];
    float losses[2];
    for (int run = 0; run < 2; ++run) {
      const auto net = NewNet(ShippedNet("resnet20_cifar", 4), options);
      net->InitParameters();
      const Batch batch = RandomBatch(net->input_shape(), 10);
      for (int step = 0; step <= run; ++step) {  // nor does an earlier step matter
        losses[run] = net->Forward(batch);
        net->Backward(1, nullptr);
      }
      gradients[run] = Gradients(*net);
    }
    EXPECT_EQ(losses[0], losses[1]);
    EXPECT_EQ(gradients[0], gradients[1]);
  }
}

TEST(NetTest, DropoutIsAFunctionOfSeedLayerAndSequence) {
  const std::string text =
      kInputs + Inner("ip", "x", 40) + "layer { name: 'd' type: 'Dropout' bottom: 'ip' top: 'd' }" +
      "layer { name: 'e' type: 'Dropout' bottom: 'ip' top: 'e' }" + Inner("out", "d", 5) +
      Inner("out2", "e", 5) + Loss("loss", "out") + Loss("loss2", "out2");
  NetOptions options = TestOptions();
  options.reuse_memory = false;
  const auto run = [&](uint64_t seed, uint64_t sequence, const char* blob) {
    options.seed = seed;
    const auto net = NewNet(text, options);
    SetRandom({}, net->parameters().get());
    Step(net.get(), 1, sequence);
    return std::make_pair(net->Blob(blob), Gradients(*net));
  };
  const auto first = run(1, 9, "d");
  EXPECT_EQ(run(1, 9, "d"), first);
  EXPECT_NE(run(1, 10, "d").first, first.first);
  EXPECT_NE(run(2, 9, "d").first, first.first);
  EXPECT_NE(run(1, 9, "e").first, first.first);
  int dropped = 0;
  for (float value : first.first) dropped += value == 0;
  EXPECT_NEAR(dropped, 80, 30);
}

TEST(NetTest, ANetOnAnothersParametersFollowsThem) {
  const std::string text = kInputs + Conv("c", "x", 18) + Simple("BatchNorm", "n", "c") +
                           Simple("Scale", "s", "n", "scale_param { bias_term: true }") +
                           Inner("ip", "s", 5) + Loss("loss", "ip");
  for (DType compute : {DType::kFP32, DType::kBF16}) {
    NetOptions options = TestOptions();
    options.compute = compute;
    const auto train = NewNet(text, options);
    train->InitParameters();
    NetOptions test_options = options;
    test_options.phase = TEST;
    test_options.batch_size = 7;
    const auto alone = NewNet(text, test_options);
    test_options.parameters = train->parameters();
    const auto shared = NewNet(text, test_options);
    EXPECT_EQ(shared->parameters(), train->parameters());
    const Batch batch = RandomBatch(shared->input_shape(), 5);
    shared->Forward(batch);
    const auto before = shared->Logits();
    RandomParameters other;
    other.seed = 11;
    SetRandom(other, train->parameters().get());
    Step(train.get());  // moves the running statistics
    shared->Forward(batch);
    EXPECT_NE(shared->Logits(), before);
    CopyParameters(*train, alone.get());
    alone->Forward(batch);
    EXPECT_LT(RelativeError(shared->Logits(), alone->Logits()),
              compute == DType::kFP32 ? 1e-6 : 1e-2);
  }
}

TEST(NetTest, TwoTrainingNetsCanShareParameters) {
  const std::string text = Branches(Conv("trunk", "x", 16), {1});
  NetOptions options = TestOptions();
  const auto large = NewNet(text, options);
  large->InitParameters();
  options.parameters = large->parameters();
  options.batch_size = 2;
  const auto small = NewNet(text, options);
  Step(large.get());
  const Values gradients = Gradients(*large);
  Step(small.get());
  EXPECT_NE(Gradients(*large), gradients);
  Step(large.get());
  EXPECT_EQ(Gradients(*large), gradients);
}

TEST(NetTest, ANetThatDoesNotFitAnothersParametersIsRefused) {
  const auto train = NewNet(kInputs + Inner("ip", "x", 5) + Loss("loss", "ip"));
  NetOptions options = TestOptions(TEST);
  options.parameters = train->parameters();
  EXPECT_TRUE(Has(Error(Inner("other", "x", 5), options),
                  "parameter other.weight does not exist in the training net"));
  EXPECT_TRUE(Has(Error(Inner("ip", "x", 6), options),
                  "parameter ip.weight is 6x192 here and 5x192 in the training net"));
  EXPECT_TRUE(Has(Error(Simple("BatchNorm", "n", "x") + Inner("ip", "n", 5), options),
                  "its running_mean does not exist in the training net"));
}

TEST(NetTest, WithRecomputeBatchNormResultsAreNotKept) {
  constexpr int kBlocks = 6;
  std::string text =
      "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: [16, 16, 32, 32] } } }"
      "layer { name: 'y' type: 'Input' top: 'y' input_param { shape { dim: 16 } } }";
  std::string blob = "x";
  for (int i = 0; i < kBlocks; ++i) {
    const std::string c = StrCat("c", i), n = StrCat("n", i), s = StrCat("s", i);
    text += Conv(c, blob, 16) + Simple("BatchNorm", n, c) +
            Simple("Scale", s, n, "scale_param { bias_term: true }") +
            StrCat("layer { name: 'r", i, "' type: 'ReLU' bottom: '", s, "' top: '", s, "' }");
    blob = s;
  }
  text += Simple("Pooling", "pool", blob, "pooling_param { pool: AVE global_pooling: true }") +
          Inner("ip", "pool", 5) + Loss("loss", "ip");
  NetOptions options = TestOptions();
  options.recompute = true;
  const auto reusing = NewNet(text, options);
  options.reuse_memory = false;
  const auto keeping = NewNet(text, options);
  SetRandom({}, reusing->parameters().get());
  SetRandom({}, keeping->parameters().get());
  EXPECT_EQ(Step(reusing.get()), Step(keeping.get()));
  EXPECT_EQ(Gradients(*reusing), Gradients(*keeping));
  EXPECT_EQ(States(*reusing), States(*keeping));
  // At the turning point the results of the convolutions live, not those of the batch norms.
  const size_t bytes = size_t{16} * 16 * 32 * 32 * sizeof(float);
  EXPECT_LT(reusing->arena_bytes(), (kBlocks + 4) * bytes);
}

TEST(NetTest, PropagateDownFalseStopsTheGradient) {
  const auto net = NewNet(kInputs + Inner("before", "x", 8) +
                          Simple("InnerProduct", "after", "before",
                                 "propagate_down: false inner_product_param { num_output: 5 "
                                 "weight_filler { type: 'xavier' } }") +
                          Loss("loss", "after"));
  net->InitParameters();
  Step(net.get());
  const Values gradients = Gradients(*net);
  EXPECT_EQ(Norm({*gradients.find("before.weight")}), 0);
  EXPECT_GT(Norm({*gradients.find("after.weight")}), 0);
}

TEST(NetTest, TheOptionBatchSizeReplacesTheFiles) {
  NetOptions options = TestOptions();
  options.batch_size = 3;
  const auto net = NewNet(kInputs + Inner("ip", "x", 5) + Loss("loss", "ip"), options);
  EXPECT_EQ(net->input_shape(), (Shape{3, 3, 8, 8}));
  net->InitParameters();
  EXPECT_GT(Step(net.get()), 0);
  EXPECT_EQ(net->Logits().size(), 15u);
}

TEST(NetTest, OpsDescribeTheCompiledNet) {
  const auto net = NewNet(kInputs + Conv("c", "x", 16) +
                          "layer { name: 'r' type: 'ReLU' bottom: 'c' top: 'c' }" +
                          Inner("ip", "c", 5) + Loss("loss", "ip"));
  std::string types;
  int64_t parameters = 0;
  for (const NetOp& op : net->ops()) {
    if (op.type[0] != '_') types += op.type + " ";
    parameters += op.parameter_count;
    if (op.name == "c") {
      EXPECT_EQ(op.tops, std::vector<std::string>{"c#2"});
      EXPECT_EQ(op.top_shapes[0], (Shape{4, 16, 8, 8}));
      EXPECT_EQ(op.forward_flops, 2 * 4 * 16 * 64 * 27);
    }
  }
  EXPECT_EQ(types, "Input Input Convolution InnerProduct SoftmaxWithLoss ");
  EXPECT_EQ(parameters, net->parameters()->layout().parameter_count());
}

TEST(NetTest, TimesAddUpUntilTheyAreReset) {
  const auto net = NewNet(kInputs + Conv("c", "x", 16) + Inner("ip", "c", 5) + Loss("loss", "ip"));
  net->InitParameters();
  Step(net.get());
  const auto total = [&] {
    double seconds = 0;
    for (const NetOp& op : net->ops()) seconds += op.forward_seconds + op.backward_seconds;
    return seconds;
  };
  EXPECT_EQ(total(), 0);
  net->EnableTimes();
  Step(net.get());
  EXPECT_GT(total(), 0);
  net->ResetTimes();
  EXPECT_EQ(total(), 0);
}

TEST(NetTest, ALabelOutOfRangeIsTheUsersError) {
  const auto net = NewNet(kInputs + Inner("ip", "x", 5) + Loss("loss", "ip"));
  net->InitParameters();
  Batch batch = RandomBatch(net->input_shape(), 5);
  batch.labels[2] = 5;
  const std::string error = ErrorOf([&] { net->Forward(batch); });
  EXPECT_TRUE(Has(error, "label 5 of sample 2")) << error;
}

TEST(NetErrorTest, WhatIsWrongWithALayerNamesItAndItsPlace) {
  const std::string unknown = Error(Simple("Convolutoin", "c", "x"));
  EXPECT_TRUE(Has(unknown, "layer \"c\": unknown type \"Convolutoin\" (known: ")) << unknown;
  EXPECT_TRUE(Has(unknown, "Convolution")) << unknown;
  EXPECT_FALSE(Has(unknown, "_Reorder")) << unknown;
  EXPECT_TRUE(Has(unknown, "test.prototxt:1:")) << unknown;
  EXPECT_TRUE(Has(Error(Simple("_Reorder", "c", "x")), "unknown type \"_Reorder\""));
  EXPECT_TRUE(Has(Error("layer { name: 'e' type: 'SoftmaxWithLoss' bottom: 'x' top: 'l' }"),
                  "layer \"e\" (SoftmaxWithLoss): expects 2 bottoms, got 1"));
  EXPECT_TRUE(Has(Error("layer { name: 'r' type: 'ReLU' bottom: 'x' top: 'a' top: 'b' }"),
                  "expects 1 tops, got 2"));
  EXPECT_TRUE(Has(Error(Simple("InnerProduct", "i", "x",
                               "param { name: 'w' } inner_product_param { num_output: 2 }")),
                  "parameters shared by name (\"w\") are not supported"));
  const std::string large = Error(
      "layer { name: 'c' type: 'Convolution' bottom: 'x' top: 'c' "
      "convolution_param { num_output: 2 kernel_size: 11 } }");
  EXPECT_TRUE(Has(large, "layer \"c\" (Convolution)")) << large;
}

TEST(NetErrorTest, ANetTakesImagesOfOneSize) {
  EXPECT_TRUE(Has(Error("layer { name: 'z' type: 'Input' top: 'z' "
                        "input_param { shape { dim: [4, 3, 9, 9] } } }"),
                  "takes images of 4x3x9x9, another input of the net takes 4x3x8x8"));
  EXPECT_TRUE(Has(ErrorOf([] {
                    NewNet(
                        "layer { name: 'z' type: 'Input' top: 'z' "
                        "input_param { shape { dim: [4, 3] } } }");
                  }),
                  "test.prototxt: the net takes no images"));
}

TEST(NetErrorTest, OnlyLossesHaveALossWeight) {
  EXPECT_TRUE(Has(Error(Inner("ip", "x", 5) + Simple("ReLU", "r", "ip", "loss_weight: 1")),
                  "layer \"r\" (ReLU): has loss_weight 1 but is not a loss"));
  EXPECT_EQ(Error(Inner("ip", "x", 5) + Simple("ReLU", "r", "ip", "loss_weight: 0")), "(no error)");
}

TEST(NetErrorTest, LabelsAreNotNumbersNorNumbersLabels) {
  EXPECT_TRUE(Has(Error(Simple("ReLU", "r", "y")), "bottom \"y\" (4) holds labels"));
  const std::string error =
      Error(Simple("Pooling", "p", "x", "pooling_param { global_pooling: true }") +
            Inner("s", "x", 3) + Inner("t", "p", 1) +
            "layer { name: 'l' type: 'SoftmaxWithLoss' bottom: 's' bottom: 't' top: 'l' }");
  EXPECT_TRUE(Has(error, "bottom \"t\" (4x1) is not labels of the data")) << error;
}

}  // namespace
}  // namespace gf
