// Several ranks on one device whose gradients travel through the host train as one rank with all
// images does; as one of the ranks that mpirun started.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "comm/flow/gradient_flow.h"
#include "comm/single.h"
#include "tests/comm/mpi/mpi_main.h"
#include "tests/models/net_for_test.h"

namespace gf {
namespace {

constexpr int64_t kImages = 12;  // of a step, on all ranks
constexpr int kSteps = 6;
constexpr float kRate = 0.05f;

// A rank's part of the images of a step.
Batch PartOf(const Shape& images, int64_t step, Communicator* comm) {
  Batch batch = RandomBatch(images, 10, 100 + step);
  const int64_t part = kImages / comm->size(), begin = comm->rank() * part;
  batch.images.data = batch.images.as<float>() + begin * images.count(1, 4);
  batch.images.desc.shape = {part, images[1], images[2], images[3]};
  batch.labels = {batch.labels.begin() + begin, batch.labels.begin() + begin + part};
  return batch;
}

// weights -= rate * gradients / world, by the host.
void Update(const ElementRange& range, int world, Device* device, const ParameterStore& store) {
  const size_t count = range.end - range.begin;
  std::vector<float> weights(count), gradients(count);
  float* const on_device = store.master().as<float>() + range.begin;
  Stream* const stream = device->compute_stream();
  device->CopyToHost(on_device, weights.data(), count * sizeof(float), stream);
  device->CopyToHost(store.gradient().as<float>() + range.begin, gradients.data(),
                     count * sizeof(float), stream);
  for (size_t i = 0; i < count; ++i) {
    weights[i] -= kRate * gradients[i] / static_cast<float>(world);
  }
  device->CopyFromHost(weights.data(), on_device, count * sizeof(float), stream);
}

// lenet's weights after `steps` steps of these ranks.
Values Trained(Communicator* ranks, CommConfig::Mode mode, int steps) {
  const int world = ranks->size();
  Net net(ShippedNet("lenet", kImages / world), TestOptions(), TestDevice());
  net.InitParameters();
  ParameterStore* const store = net.parameters().get();
  GradientFlowOptions options;
  options.config.set_mode(mode);
  options.config.set_algorithm("ring");
  options.config.set_device_transport("host");
  options.config.set_threshold_first(10'000);
  options.config.set_threshold_middle(100'000);
  options.device = TestDevice();
  const auto flow = NewGradientFlow(store->layout(), store->gradient(), ranks, options);
  const Shape& input = net.input_shape();
  const Shape images = {kImages, input[1], input[2], input[3]};
  for (int step = 0; step < steps; ++step) {
    flow->BeginStep(step);
    net.Forward(PartOf(images, step, ranks));
    net.Backward(1, [&](const std::vector<int>& entries) { flow->GradientsReady(entries); });
    flow->Finish([&](const std::vector<ElementRange>& ranges) {
      for (const ElementRange& range : ranges) Update(range, world, TestDevice(), *store);
    });
    store->BumpVersion();
  }
  return Parameters(net);
}

TEST(StagedTrainingTest, EqualsOneRankWithAllImages) {
  constexpr double kTolerance = 1e-5;  // of the norm of each tensor: FP32 sums in another order
  const auto alone = NewSingleCommunicator();
  const Values before = Trained(alone.get(), CommConfig::LAZY, 0),
               one = Trained(alone.get(), CommConfig::LAZY, kSteps);
  for (const auto mode : {CommConfig::AFTER_BACKWARD, CommConfig::PER_TENSOR, CommConfig::LAZY}) {
    const Values several = Trained(comm, mode, kSteps);
    ASSERT_EQ(several.size(), one.size());
    for (const auto& [tensor, values] : one) {
      EXPECT_GT(RelativeError(before.at(tensor), values), 100 * kTolerance) << tensor;
      EXPECT_LE(RelativeError(several.at(tensor), values), kTolerance)
          << tensor << ", " << CommConfig::Mode_Name(mode);
    }
  }
}

}  // namespace
}  // namespace gf
