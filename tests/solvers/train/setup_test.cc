// A job's start, where one rank alone fails in work that takes all of them.
#include "solvers/train/setup.h"

#include <gtest/gtest.h>

#include <new>
#include <string>

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

}  // namespace
}  // namespace gf
