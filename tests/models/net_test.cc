// What a net promises whatever its layers are.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/models/layers_for_test.h"

namespace gf {
namespace {

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

TEST(NetTest, TwoRunsHaveTheSameBits) {
  for (DType compute : ComputeTypes()) {
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
        losses[run] = net->Forward(batch).Value();
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
  const auto storing = NewNet(text, options);
  options.recompute = true;
  const auto reusing = NewNet(text, options);
  options.reuse_memory = false;
  const auto keeping = NewNet(text, options);
  SetRandom({}, reusing->parameters().get());
  SetRandom({}, keeping->parameters().get());
  EXPECT_EQ(Step(reusing.get()), Step(keeping.get()));
  EXPECT_EQ(Gradients(*reusing), Gradients(*keeping));
  EXPECT_EQ(States(*reusing), States(*keeping));
  // At the turning point the results of the convolutions live, but of the batch norms at most two.
  const size_t bytes = size_t{16} * 16 * 32 * 32 * sizeof(float);
  EXPECT_LE(reusing->arena_bytes() + (kBlocks - 2) * bytes, storing->arena_bytes());
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

}  // namespace
}  // namespace gf
