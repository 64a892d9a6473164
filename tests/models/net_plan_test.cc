// Nets that are only planned: as others, without memory.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/models/layers_for_test.h"

namespace gf {
namespace {

NetOptions PlanOptions(Phase phase = TRAIN) {
  NetOptions options = TestOptions(phase);
  options.plan_only = true;
  return options;
}

std::vector<Tensor> Pools(const ParameterStore& store) {
  return {store.master(), store.compute(),       store.gradient(),
          store.states(), store.frozen_master(), store.frozen_compute()};
}

void ExpectSameLayout(const PoolLayout& plan, const PoolLayout& net) {
  ASSERT_EQ(plan.entries().size(), net.entries().size());
  for (size_t i = 0; i < plan.entries().size(); ++i) {
    const PoolEntry &planned = plan.entries()[i], &entry = net.entries()[i];
    EXPECT_EQ(planned.name, entry.name);
    EXPECT_EQ(planned.shape, entry.shape) << entry.name;
    EXPECT_TRUE(planned.layout == entry.layout) << entry.name;
    EXPECT_EQ(planned.offset, entry.offset) << entry.name;
    EXPECT_EQ(planned.count, entry.count) << entry.name;
  }
  EXPECT_EQ(plan.count(), net.count());
}

void ExpectSameNet(const Net& plan, const Net& net) {
  ASSERT_EQ(plan.ops().size(), net.ops().size());
  for (size_t i = 0; i < plan.ops().size(); ++i) {
    const NetOp &planned = plan.ops()[i], &op = net.ops()[i];
    EXPECT_EQ(planned.name, op.name);
    EXPECT_EQ(planned.type, op.type) << op.name;
    EXPECT_EQ(planned.bottoms, op.bottoms) << op.name;
    EXPECT_EQ(planned.tops, op.tops) << op.name;
    EXPECT_TRUE(planned.top_shapes == op.top_shapes) << op.name;
    EXPECT_TRUE(planned.top_layouts == op.top_layouts) << op.name;
    EXPECT_EQ(planned.entries, op.entries) << op.name;
    EXPECT_EQ(planned.how, op.how) << op.name;
    EXPECT_EQ(planned.parameter_count, op.parameter_count) << op.name;
    EXPECT_EQ(planned.forward_flops, op.forward_flops) << op.name;
    EXPECT_EQ(planned.backward_flops, op.backward_flops) << op.name;
  }
  EXPECT_EQ(plan.arena_bytes(), net.arena_bytes());
  EXPECT_EQ(plan.arena_bytes_without_reuse(), net.arena_bytes_without_reuse());
  EXPECT_EQ(plan.classes(), net.classes());
  const ParameterStore &planned = *plan.parameters(), &store = *net.parameters();
  ExpectSameLayout(planned.layout(), store.layout());
  ExpectSameLayout(planned.state_layout(), store.state_layout());
  ExpectSameLayout(planned.frozen_layout(), store.frozen_layout());
  EXPECT_EQ(planned.has_gradients(), store.has_gradients());
  EXPECT_EQ(planned.has_own_compute(), store.has_own_compute());
  const std::vector<Tensor> planned_pools = Pools(planned), pools = Pools(store);
  for (size_t i = 0; i < pools.size(); ++i) {
    EXPECT_EQ(planned_pools[i].desc.bytes(), pools[i].desc.bytes()) << i;
  }
}

void ExpectNoMemory(const ParameterStore& store) {
  EXPECT_TRUE(store.plan_only());
  for (const Tensor& pool : Pools(store)) {
    EXPECT_EQ(pool.data, nullptr);
    EXPECT_TRUE(pool.owner == nullptr);
  }
}

class PlannedNetworkTest : public testing::TestWithParam<const char*> {};

TEST_P(PlannedNetworkTest, APlanIsWhatANetWouldBe) {
  const NetSource source = ReadNet(StrCat("models/", GetParam(), ".prototxt"));
  for (const DType compute : ComputeTypes()) {
    for (const Phase phase : {TRAIN, TEST}) {
      NetOptions options = PlanOptions(phase);
      options.compute = compute;
      options.batch_size = 2;
      options.recompute = phase == TRAIN;
      const auto plan = NewNet(source, options);
      ExpectNoMemory(*plan->parameters());
      options.plan_only = false;
      ExpectSameNet(*plan, *NewNet(source, options));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shipped, PlannedNetworkTest,
                         testing::Values("alexnet", "googlenet", "resnet50", "resnet20_cifar"),
                         [](const testing::TestParamInfo<const char*>& info) {
                           return std::string(info.param);
                         });

TEST(NetPlanTest, FrozenAndSharedParametersArePlanned) {
  const std::string param = "param { name: 'w' } param { name: 'b' }";
  const std::string text =
      kInputs + Inner("low", "x", 12) +
      Simple("InnerProduct", "one", "low", param + "inner_product_param { num_output: 12 }") +
      Simple("InnerProduct", "two", "one", param + "inner_product_param { num_output: 12 }") +
      Inner("out", "two", 5) + Loss("loss", "out");
  NetOptions options = PlanOptions();
  options.freeze = {"low.*"};
  const auto plan = NewNet(text, options);
  EXPECT_GT(plan->parameters()->frozen_layout().count(), 0);
  ExpectNoMemory(*plan->parameters());
  options.plan_only = false;
  ExpectSameNet(*plan, *NewNet(text, options));
}

TEST(NetPlanTest, ABatchThatNoMemoryHoldsIsPlannedAndNotAllocated) {
  constexpr int64_t kBatch = 1000000;
  const NetSource source = ReadNet("models/resnet50.prototxt");
  NetOptions options = PlanOptions();
  options.batch_size = kBatch;
  const auto plan = NewNet(source, options);
  EXPECT_EQ(plan->input_shape(), (Shape{kBatch, 3, 224, 224}));
  // The first convolution's result alone.
  EXPECT_GT(plan->arena_bytes(), size_t{kBatch} * 64 * 112 * 112 * sizeof(float));
  EXPECT_GT(plan->arena_bytes_without_reuse(), plan->arena_bytes());
  ExpectNoMemory(*plan->parameters());

  NetOptions test = PlanOptions(TEST);
  test.batch_size = kBatch;
  test.parameters = plan->parameters();
  EXPECT_GT(NewNet(source, test)->arena_bytes(), size_t{kBatch} * 64 * 112 * 112 * sizeof(float));

  options.plan_only = false;
  const std::string error = ErrorOf([&] { NewNet(source, options); });
  EXPECT_TRUE(Has(error, "but this process can have ")) << error;
}

TEST(NetPlanTest, AComputePoolOfItsOwnIsPlannedToo) {
  const auto plan = NewNet(kInputs + Inner("ip", "x", 5) + Loss("loss", "ip"), PlanOptions());
  ParameterStore& store = *plan->parameters();
  EXPECT_FALSE(store.has_own_compute());
  store.SetOwnCompute(true);
  EXPECT_TRUE(store.has_own_compute());
  EXPECT_EQ(store.compute().desc.bytes(), store.master().desc.bytes());
  ExpectNoMemory(store);
  store.SetOwnCompute(false);
  EXPECT_FALSE(store.has_own_compute());
}

TEST(NetPlanTest, ExtentsThatLibrariesCannotCountAreRefused) {
  const auto error = [](const std::string& layer) {
    return ErrorOf([&] { NewNet(kInputs + layer, PlanOptions()); });
  };
  const std::string wide = error(Simple(
      "InnerProduct", "ip", "x", StrCat("inner_product_param { num_output: ", UINT32_MAX, " }")));
  EXPECT_TRUE(Has(wide,
                  "layer \"ip\" (InnerProduct): its weight of 4294967295x192 has an extent, or "
                  "pixels of an image, of 4,294,967,295, must be at most 1,073,741,824"))
      << wide;
  const std::string large = error(
      "layer { name: 'data' type: 'Input' top: 'z' "
      "input_param { shape { dim: [1, 1, 400000, 400000] } } }");
  EXPECT_TRUE(Has(large, "layer \"data\" (Input): its top \"z\" of 1x1x400000x400000 has "))
      << large;
}

TEST(NetPlanDeathTest, APlanCannotRun) {
  const auto plan = NewNet(kInputs + Inner("ip", "x", 5) + Loss("loss", "ip"), PlanOptions());
  const Batch batch = RandomBatch(plan->input_shape(), 5);
  EXPECT_DEATH(plan->Forward(batch), "is a plan without memory and cannot run");
  EXPECT_DEATH(plan->InitParameters(), "is a plan without memory and cannot run");
  const ParameterStore& store = *plan->parameters();
  EXPECT_DEATH(store.Export(store.master(), store.layout().entries()[0]), "has no memory");
}

}  // namespace
}  // namespace gf
