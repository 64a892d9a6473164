// What backward promises about gradients.

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "tests/models/layers_for_test.h"

namespace gf {
namespace {

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

TEST(NetGradientTest, ParametersThatNoLossDependsOnHaveZeroGradientsAndAreReported) {
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

TEST(NetGradientTest, BackwardReportsEachEntryOnceInPoolOrderWithItsGradientReady) {
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

TEST(NetGradientTest, GradientsScaleWithTheLossScale) {
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

TEST(NetGradientTest, AReductionWithALossWeightStartsTheGradient) {
  // The sum counts by itself, and twice as part of the other loss.
  const auto net =
      NewNet(kInputs + Inner("ip", "x", 5) + Simple("Reduction", "sum", "ip", "loss_weight: 0.25") +
             Simple("Reduction", "twice", "sum", "loss_weight: 1 reduction_param { coeff: 2 }"));
  net->InitParameters();
  Step(net.get(), 8);
  // Of four images.
  EXPECT_EQ(Gradients(*net).at("ip.bias"), std::vector<float>(5, 4 * 8 * (0.25f + 2)));
}

TEST(NetGradientTest, PropagateDownFalseStopsTheGradient) {
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

}  // namespace
}  // namespace gf
