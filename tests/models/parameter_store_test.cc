#include "models/parameter_store.h"

#include <gtest/gtest.h>

#include "models/filler.h"
#include "tests/models/net_for_test.h"

namespace gf {
namespace {

// Convolutions with padded channels (3 -> 20, 20 -> 10), groups, and one without spare channels;
// an inner product after them.
constexpr char kNet[] =
    "layer { name: 'x' type: 'Input' top: 'x' input_param { shape { dim: [2, 3, 12, 12] } } }"
    "layer { name: 'y' type: 'Input' top: 'y' input_param { shape { dim: 2 } } }"
    "layer { name: 'odd' type: 'Convolution' bottom: 'x' top: 'a'"
    " convolution_param { num_output: 20 kernel_size: 3 weight_filler { type: 'msra' } } }"
    "layer { name: 'grouped' type: 'Convolution' bottom: 'a' top: 'b'"
    " convolution_param { num_output: 10 group: 2 kernel_size: 3 weight_filler { type: 'msra' } } }"
    "layer { name: 'full' type: 'Convolution' bottom: 'b' top: 'c'"
    " convolution_param { num_output: 32 kernel_size: 1 weight_filler { type: 'msra' } } }"
    "layer { name: 'fc' type: 'InnerProduct' bottom: 'c' top: 'd'"
    " inner_product_param { num_output: 7 weight_filler { type: 'xavier' } } }"
    "layer { name: 'loss' type: 'SoftmaxWithLoss' bottom: 'd' bottom: 'y' top: 'loss' }";

std::vector<float> Count(int64_t n) {
  std::vector<float> values(n);
  for (int64_t i = 0; i < n; ++i) values[i] = static_cast<float>(i % 251 + 1);  // exact in BF16
  return values;
}

TEST(ParameterStoreTest, ExportReturnsWhatImportWroteInEveryLayout) {
  for (DType compute : ComputeTypes()) {
    NetOptions options = TestOptions();
    options.compute = compute;
    const auto net = NewNet(kNet, options);
    ParameterStore& store = *net->parameters();
    int blocked = 0;
    for (const PoolEntry& entry : store.layout().entries()) {
      blocked += !entry.layout.plain();
      EXPECT_GE(entry.count, entry.shape.count()) << entry.name;
      const auto values = Count(entry.shape.count());
      for (const Tensor* pool : {&store.master(), &store.compute(), &store.gradient()}) {
        store.Import(values, entry, *pool);
        EXPECT_EQ(store.Export(*pool, entry), values) << entry.name;
      }
    }
    EXPECT_GT(blocked, 0) << "no layout but plain was tested";
  }
}

TEST(ParameterStoreTest, AnImportLeavesTheOtherEntriesAndTheGapsAlone) {
  const auto net = NewNet(kNet);
  ParameterStore& store = *net->parameters();
  const auto& entries = store.layout().entries();
  double sum = 0;
  for (const PoolEntry& entry : entries) {
    store.Import(Count(entry.shape.count()), entry, store.master());
    for (float value : Count(entry.shape.count())) sum += value;
  }
  for (const PoolEntry& entry : entries) {
    EXPECT_EQ(store.Export(store.master(), entry), Count(entry.shape.count())) << entry.name;
  }
  double pool = 0;
  for (int64_t i = 0; i < store.layout().count(); ++i) pool += store.master().as<float>()[i];
  EXPECT_EQ(pool, sum) << "gaps and padding are not zero";
}

TEST(ParameterStoreTest, GradientsLeaveZerosInTheGapsAndThePadding) {
  const auto net = NewNet(kNet);
  net->InitParameters();
  net->Forward(RandomBatch(net->input_shape(), 7));
  net->Backward(1, nullptr);
  const ParameterStore& store = *net->parameters();
  int64_t values = 0, pool = 0;
  for (const auto& entry : Gradients(*net)) {
    for (float value : entry.second) values += value != 0;
  }
  for (int64_t i = 0; i < store.layout().count(); ++i) {
    pool += store.gradient().as<float>()[i] != 0;
  }
  EXPECT_GT(values, 0);
  EXPECT_EQ(pool, values);
}

TEST(ParameterStoreTest, SyncComputeRoundsTheMasterPoolAndBumpsTheVersion) {
  if (ComputeTypes().size() == 1) GTEST_SKIP() << "no BF16 on this processor";
  NetOptions options = TestOptions();
  options.compute = DType::kBF16;
  const auto net = NewNet(kNet, options);
  ParameterStore& store = *net->parameters();
  const PoolEntry& entry = store.layout().entries()[0];
  std::vector<float> values(entry.shape.count(), 1.00390625f);  // 1 + 2^-8, a tie
  store.Import(values, entry, store.master());
  const uint64_t version = store.version();
  store.SyncCompute();
  EXPECT_GT(store.version(), version);
  EXPECT_EQ(store.Export(store.compute(), entry), std::vector<float>(values.size(), 1.f));
  EXPECT_EQ(store.Export(store.master(), entry), values);
}

TEST(ParameterStoreTest, InFP32TheMasterPoolIsTheComputePool) {
  const auto net = NewNet(kNet);
  EXPECT_EQ(net->parameters()->master().data, net->parameters()->compute().data);
}

// A net follows its store to other weights and back.
TEST(ParameterStoreTest, NetsComputeWithAComputePoolOfItsOwn) {
  for (const DType type : ComputeTypes()) {
    NetOptions options = TestOptions();
    options.compute = type;
    const auto net = NewNet(kNet, options);
    net->InitParameters();
    ParameterStore& store = *net->parameters();
    const auto loss = [&](bool own, bool change) {
      store.SetOwnCompute(own);
      EXPECT_EQ(store.has_own_compute(), own || type != DType::kFP32);
      store.SyncCompute();
      if (change) {
        for (const PoolEntry& entry : store.layout().entries()) {
          store.Import(std::vector<float>(entry.shape.count(), 0.125f), entry, store.compute());
        }
        store.BumpVersion();
      }
      const float value = net->Forward(RandomBatch(net->input_shape(), 7)).Value();
      net->Backward(1, nullptr);
      return value;
    };
    const float plain = loss(false, false);
    const auto gradients = Gradients(*net);
    EXPECT_EQ(loss(true, false), plain) << Name(type);
    EXPECT_EQ(Gradients(*net), gradients) << Name(type);
    const float other = loss(true, true);
    EXPECT_NE(other, plain) << Name(type);
    EXPECT_NE(Gradients(*net), gradients) << Name(type);
    EXPECT_EQ(loss(false, false), plain) << Name(type);
    EXPECT_EQ(Gradients(*net), gradients) << Name(type);
  }
}

TEST(ParameterStoreTest, ATestNetHasNoGradientPool) {
  EXPECT_EQ(NewNet(kNet, TestOptions(TEST))->parameters()->gradient().data, nullptr);
}

TEST(ParameterStoreTest, InitParametersFollowsTheFillersWhateverTheLayout) {
  const auto net = NewNet(kNet);
  net->InitParameters();
  FillerParameter msra;
  msra.set_type("msra");
  const Values values = Parameters(*net);
  EXPECT_EQ(values.at("odd.weight"), Fill(msra, Shape{20, 3, 3, 3}, 1, "odd.weight"));
  EXPECT_EQ(values.at("grouped.weight"), Fill(msra, Shape{10, 10, 3, 3}, 1, "grouped.weight"));
  EXPECT_EQ(values.at("fc.bias"), std::vector<float>(7, 0.f));
}

}  // namespace
}  // namespace gf
