// A job's start: one rank alone fails in work that takes all of them; parts work together.
#include "solvers/train/setup.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include "comm/local/communicator.h"
#include "core/config/job.pb.h"
#include "core/device.h"
#include "core/registry.h"
#include "tests/comm/separate_device.h"

namespace gf {
namespace {

class ScarceDevice : public SeparateDevice {
 public:
  explicit ScarceDevice(int threads) : SeparateDevice("") {}
  std::string name() const override { return "scarce"; }
  // Every rank has a device of its own.
  std::string Address() const override { return StrCat(this); }
};
GF_REGISTER(DeviceRegistry, "scarce", ScarceDevice);

// Connects the ranks, for which rank 1 has no memory.
class ScarceTransport : public GradientTransport {
 public:
  ScarceTransport(Device* device, Communicator* comm, const std::string& algorithm) {
    if (comm->rank() == 1) throw std::bad_alloc();
    comm->Barrier("connecting devices");
  }
  std::string Describe() const override { return "none"; }
  int64_t Start(const TensorCollective& collective) override { return 0; }
  void Await(int64_t number) override {}
  void Settle() override {}
  std::vector<TransferSpan> TakeSpans() override { return {}; }
};
GF_REGISTER(GradientTransportRegistry, "scarce", ScarceTransport);

// RunLocal throws the first exception. Here rank 1 throws it, and RunOnRanks would print it.
TEST(SetUpTest, ALackOfMemoryWhileRanksConnectReachesTheCallerOnThatRank) {
  JobConfig config;
  config.set_device("scarce");
  const auto set_up = [&](Communicator* comm) {
    TrainingParts parts;
    gf::SetUp(config, TrainOptions(), comm, &parts);
  };
  EXPECT_THROW(RunLocal(2, 20, set_up), std::bad_alloc);
}

// The files of 8 images of 28 x 28 pixels and their labels.
std::string WriteImages() {
  const std::string folder = ::testing::TempDir();
  std::string images = {0, 0, 8, 3, 0, 0, 0, 8, 0, 0, 0, 28, 0, 0, 0, 28};
  for (int i = 0; i < 8 * 28 * 28; ++i) images += static_cast<char>(i * 37 % 251);
  std::ofstream(folder + "/train-images-idx3-ubyte", std::ios::binary) << images;
  std::ofstream(folder + "/train-labels-idx1-ubyte", std::ios::binary)
      << std::string{0, 0, 8, 1, 0, 0, 0, 8, 0, 1, 2, 3, 4, 5, 6, 7};
  return folder + "/train-images-idx3-ubyte";
}

// Whether all gradients of conv1 are zero after the backward pass of a step.
bool Conv1Rests(int64_t step, TrainingParts* parts) {
  parts->state.step = step;
  parts->update->Begin(0.1);
  parts->train.net->Forward(parts->feed->Next(), step);
  parts->train.net->Backward(1, nullptr);
  bool rests = true;
  for (const PoolEntry& entry : parts->store->layout().entries()) {
    const float* const gradient = parts->store->gradient().as<float>() + entry.offset;
    const bool zero =
        std::all_of(gradient, gradient + entry.count, [](float value) { return value == 0; });
    if (entry.layer == "conv1") {
      rests &= zero;
    } else {
      EXPECT_FALSE(zero) << entry.name;
    }
  }
  return rests;
}

TEST(SetUpTest, TheNetLearnsWhichParametersHaveEnded) {
  JobConfig config;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(net: "models/lenet.prototxt"
         train_data { format: IDX channels: 1 batch_size: 4 }
         solver { base_lr: 0.1 max_steps: 20 rule { pattern: "conv1.*" until_epoch: 2.5 } })",
      &config));
  config.mutable_train_data()->set_source(WriteImages());
  RunLocal(1, 60, [&](Communicator* comm) {
    TrainingParts parts;
    gf::SetUp(config, TrainOptions(), comm, &parts);
    EXPECT_FALSE(Conv1Rests(4, &parts));
    EXPECT_TRUE(Conv1Rests(5, &parts));  // two steps per epoch
    EXPECT_FALSE(Conv1Rests(3, &parts)) << "a job that was resumed";
  });
}

}  // namespace
}  // namespace gf
