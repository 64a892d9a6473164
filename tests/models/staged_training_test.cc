// Several ranks on one device whose gradients travel through the host train as one rank does that
// computes their batches one after another; as one of the ranks that mpirun started. The batches
// have the same size in both, so that a device computes them to the bit alike and only the order of
// the sums differs: lenet's maxima would turn the rounding of other kernels into other weights.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "comm/flow/gradient_flow.h"
#include "tests/comm/mpi/mpi_main.h"
#include "tests/models/net_for_test.h"

namespace gf {
namespace {

constexpr int64_t kImages = 12;  // of a step, on all ranks
constexpr int kSteps = 6;
constexpr float kRate = 0.01f;

// One of `parts` equal parts of the images of a step.
Batch PartOf(const Shape& images, int64_t step, int part, int parts) {
  Batch batch = RandomBatch(images, 10, 100 + step);
  const int64_t size = kImages / parts, begin = part * size;
  batch.images.data = batch.images.as<float>() + begin * images.count(1, 4);
  batch.images.desc.shape = {size, images[1], images[2], images[3]};
  batch.labels = {batch.labels.begin() + begin, batch.labels.begin() + begin + size};
  return batch;
}

// lenet for one of `parts` parts of the images, with its first weights.
std::unique_ptr<Net> NewLenet(int parts) {
  NetOptions options = TestOptions();
  options.deterministic = true;
  auto net = NewNet(ShippedNet("lenet", kImages / parts), options);
  net->InitParameters();
  return net;
}

std::vector<float> GradientsIn(const ElementRange& range, const ParameterStore& store) {
  std::vector<float> gradients(range.end - range.begin);
  TestDevice()->CopyToHost(store.gradient().as<float>() + range.begin, gradients.data(),
                           gradients.size() * sizeof(float), TestDevice()->compute_stream());
  return gradients;
}

// weights -= rate * sums / parts in the range, by the host.
void Update(const ElementRange& range, int parts, const std::vector<float>& sums,
            const ParameterStore& store) {
  std::vector<float> weights(sums.size());
  const size_t bytes = weights.size() * sizeof(float);
  float* const on_device = store.master().as<float>() + range.begin;
  Device* const device = TestDevice();
  device->CopyToHost(on_device, weights.data(), bytes, device->compute_stream());
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] -= kRate * sums[i] / static_cast<float>(parts);
  }
  device->CopyFromHost(weights.data(), on_device, bytes, device->compute_stream());
}

// lenet's weights after `steps` steps of one rank that computes the parts one after another.
Values TrainedAlone(int parts, int steps) {
  const auto net = NewLenet(parts);
  ParameterStore* const store = net->parameters().get();
  const ElementRange all = {0, store->layout().count()};
  const Shape& input = net->input_shape();
  for (int step = 0; step < steps; ++step) {
    std::vector<float> sums(all.end);
    for (int part = 0; part < parts; ++part) {
      net->Forward(PartOf({kImages, input[1], input[2], input[3]}, step, part, parts));
      net->Backward(1, nullptr);
      const std::vector<float> gradients = GradientsIn(all, *store);
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += gradients[i];
    }
    Update(all, parts, sums, *store);
    store->BumpVersion();
  }
  return Parameters(*net);
}

// The same by all ranks.
Values TrainedByAll(CommConfig::Mode mode, int steps) {
  const int ranks = comm->size();
  const auto net = NewLenet(ranks);
  ParameterStore* const store = net->parameters().get();
  GradientFlowOptions options;
  options.config.set_mode(mode);
  options.config.set_algorithm("ring");
  options.config.set_device_transport("host");
  options.config.set_threshold_first(10'000);
  options.config.set_threshold_middle(100'000);
  options.device = TestDevice();
  const auto flow = NewGradientFlow(store->layout(), store->gradient(), comm, options);
  const Shape& input = net->input_shape();
  for (int step = 0; step < steps; ++step) {
    flow->BeginStep(step);
    net->Forward(PartOf({kImages, input[1], input[2], input[3]}, step, comm->rank(), ranks));
    net->Backward(1, [&](const std::vector<int>& entries) { flow->GradientsReady(entries); });
    flow->Finish([&](const std::vector<ElementRange>& ranges) {
      for (const ElementRange& range : ranges) {
        Update(range, ranks, GradientsIn(range, *store), *store);
      }
    });
    store->BumpVersion();
  }
  return Parameters(*net);
}

TEST(StagedTrainingTest, EqualsOneRankThatComputesTheSameBatches) {
  // Of the norm of each tensor: FP32 sums in another order, which convolutions by Winograd's
  // algorithm make larger.
  constexpr double kTolerance = 1e-5;
  const Values before = TrainedAlone(comm->size(), 0), alone = TrainedAlone(comm->size(), kSteps);
  for (const auto mode : {CommConfig::AFTER_BACKWARD, CommConfig::PER_TENSOR, CommConfig::LAZY}) {
    const Values by_all = TrainedByAll(mode, kSteps);
    ASSERT_EQ(by_all.size(), alone.size());
    for (const auto& [tensor, values] : alone) {
      EXPECT_GT(RelativeError(before.at(tensor), values), 100 * kTolerance) << tensor;
      EXPECT_LE(RelativeError(by_all.at(tensor), values), kTolerance)
          << tensor << ", " << CommConfig::Mode_Name(mode);
    }
  }
}

}  // namespace
}  // namespace gf
