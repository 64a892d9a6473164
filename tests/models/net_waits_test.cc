// The host gives a GPU the work of a pass without waiting for any of it.

#include <gtest/gtest.h>

#include "core/device.h"
#include "models/net.h"
#include "tests/emulated_gpu/counts.h"
#include "tests/models/layers_for_test.h"

namespace gf {
namespace {

class NetWaitsTest : public testing::TestWithParam<DType> {
 protected:
  static int64_t Waits() { return emulated::Now().host_waits; }
};

TEST_P(NetWaitsTest, OnlyForTheLossWhenItIsAskedFor) {
  const auto device = DeviceRegistry::Get().Create("device", "cuda", 0);
  NetOptions options;
  options.compute = GetParam();
  Net net(ShippedNet("lenet", 3), options, device.get());
  net.InitParameters();
  Batch batches[2] = {RandomBatch(net.input_shape(), 10), RandomBatch(net.input_shape(), 10)};
  for (int step = 0; step < 6; ++step) {
    const int64_t before = Waits();
    const PendingLoss loss = net.Forward(batches[step % 2], step);
    net.Backward(1024, nullptr);
    net.Stage(batches[(step + 1) % 2]);
    // The first passes load, allocate and record.
    if (step >= 3) {
      EXPECT_EQ(Waits(), before) << step;
    }
    EXPECT_GT(loss.Value(), 0);
    if (step >= 3) {
      EXPECT_EQ(Waits(), before + 1) << step;
    }
  }
}

// A batch that is staged travels before the pass that takes it is enqueued.
TEST_P(NetWaitsTest, AStagedBatchTravelsEarly) {
  const auto device = DeviceRegistry::Get().Create("device", "cuda", 0);
  NetOptions options;
  options.compute = GetParam();
  Net net(ShippedNet("lenet", 3), options, device.get());
  net.InitParameters();
  const Batch batch = RandomBatch(net.input_shape(), 10);
  const auto copies = [](const auto& work) {
    const int64_t before = emulated::Now().copies;
    work();
    return emulated::Now().copies - before;
  };
  for (int step = 0; step < 3; ++step) net.Forward(batch);
  const int64_t alone = copies([&] { net.Forward(batch); });
  const int64_t staged = copies([&] { net.Stage(batch); });
  EXPECT_GT(staged, 0);
  EXPECT_EQ(copies([&] { net.Forward(batch); }), alone - staged);
}

// Memory of trials of engines would be missing elsewhere.
TEST_P(NetWaitsTest, BuildingKeepsNoMemoryBack) {
  const auto device = DeviceRegistry::Get().Create("device", "cuda", 0);
  NetOptions options;
  options.compute = GetParam();
  const Net net(ShippedNet("lenet", 5), options, device.get());
  EXPECT_EQ(device->UnusedBytes(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Types, NetWaitsTest,
                         testing::Values(DType::kFP32, DType::kFP16, DType::kBF16),
                         [](const auto& info) { return Name(info.param); });

}  // namespace
}  // namespace gf
