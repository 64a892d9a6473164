// Gradients that devices carry themselves: when they do, and that flows touch nothing that is under
// way.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "comm/flow/gradient_transport.h"
#include "comm/local/communicator.h"
#include "core/error.h"
#include "core/telemetry/timeline.h"
#include "tests/comm/flow/separate_flow_checks.h"
#include "tests/comm/flow/separate_transport.h"
#include "tests/comm/separate_device.h"

namespace gf {
namespace {

// Runs a body with a device per rank.
void RunWithDevices(int world, const std::function<void(Device*, Communicator*)>& body) {
  RunLocal(world, 60, [&](Communicator* comm) {
    SeparateDevice device(StrCat("slot ", comm->rank()));
    TransportLog()->clear();
    FailTransportOf("");
    body(&device, comm);
  });
}

class DeviceTransportTest : public testing::TestWithParam<int> {};

TEST_P(DeviceTransportTest, DenseModesSumEveryEntryExactlyOnce) {
  RunWithDevices(GetParam(), [](Device* device, Communicator* comm) {
    CheckDenseModesOn(device, comm);
    EXPECT_TRUE(comm->size() == 1 || !TransportLog()->empty());
  });
}

TEST_P(DeviceTransportTest, SparseEqualsThatOfTheProcessorBitForBit) {
  RunWithDevices(GetParam(), [](Device* device, Communicator* comm) {
    CheckSparseOn(device, comm);
    CheckTopkOn(device, comm);
    CheckLowRankOn(device, comm);
    CheckQuantizedOn(device, comm);
    EXPECT_TRUE(comm->size() == 1 || !TransportLog()->empty());
  });
}

TEST_P(DeviceTransportTest, AShardedUpdateEqualsTheWholeOneBitForBit) {
  RunWithDevices(GetParam(), [](Device* device, Communicator* comm) {
    EXPECT_EQ(TrainOn(device, true, comm), TrainOn(TestDevice(), false, comm));
    EXPECT_TRUE(comm->size() == 1 || !TransportLog()->empty());
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, DeviceTransportTest, testing::Values(1, 2, 3, 4));

GradientFlowOptions Options(Device* device, CommConfig::Mode mode, const std::string& transport) {
  GradientFlowOptions options = On(device, FlowOptions(mode));
  options.config.set_device_transport(transport);
  options.config.set_algorithm("auto");
  return options;
}

TEST(DeviceTransportTest, BucketsStartDuringBackwardAndAreAwaitedInOrder) {
  RunWithDevices(2, [](Device* device, Communicator* comm) {
    TestFlow f(OddLayout(), Options(device, CommConfig::PER_TENSOR, "nccl"), DType::kFP32, comm);
    f.flow->BeginStep(0);
    f.flow->GradientsReady({0, 1});
    const std::vector<std::string> started = {"start p0, step 1 (allreduce)",
                                              "start p1, step 1 (allreduce)"};
    EXPECT_EQ(*TransportLog(), started);
    std::vector<std::string> expected = started;
    for (int i = 2; i < 6; ++i) expected.push_back(StrCat("start p", i, ", step 1 (allreduce)"));
    int ranges = 0;
    f.flow->Finish([&](const std::vector<ElementRange>&) {
      // Each is handed over as soon as it may be touched, not after all.
      EXPECT_EQ(TransportLog()->back(), StrCat("await p", ranges, ", step 1"));
      expected.push_back(StrCat("await p", ranges++, ", step 1"));
    });
    EXPECT_EQ(*TransportLog(), expected);
    EXPECT_EQ(f.flow->stats().allreduces, 6);
    EXPECT_EQ(f.flow->Describe(), "by the device, 6 buckets");
  });
}

TEST(DeviceTransportTest, AFlowUsesTheTransportThatWasMadeBefore) {
  RunWithDevices(2, [](Device* device, Communicator* comm) {
    GradientFlowOptions options = Options(device, CommConfig::LAZY, "nccl");
    options.transport = NewGradientTransport(options.config, options.deterministic, device, comm);
    // What would be chosen now does not count.
    options.config.set_device_transport("host");
    const TestFlow f(OddLayout(), options, DType::kFP32, comm);
    EXPECT_EQ(f.flow->Describe().rfind("by the device", 0), 0u) << f.flow->Describe();
  });
}

void RunStep(int64_t step, GradientFlow* flow, Timeline* timeline) {
  timeline->SetStep(step + 1);
  flow->BeginStep(step);
  flow->Finish([](const std::vector<ElementRange>&) {});
}

// Spans come a step late, or when the transport has settled.
TEST(DeviceTransportTest, TimesGoToTheNextStepAndSpansToTheirOwn) {
  RunWithDevices(2, [](Device* device, Communicator* comm) {
    Timeline timeline(comm->rank(), "host", {2, 3});
    GradientFlowOptions options = Options(device, CommConfig::PER_TENSOR, "nccl");
    options.timeline = &timeline;
    TestFlow f(OddLayout(), options, DType::kFP32, comm);
    const int64_t collectives = static_cast<int64_t>(f.flow->Buckets().size());
    RunStep(0, f.flow.get(), &timeline);
    EXPECT_EQ(f.flow->stats().exposed_s, 0);
    RunStep(1, f.flow.get(), &timeline);
    EXPECT_EQ(f.flow->stats().exposed_s, 0.5 * collectives);
    EXPECT_EQ(f.flow->stats().transfer_s, 0.25 * collectives);
    RunStep(2, f.flow.get(), &timeline);
    f.flow->Settle();
    EXPECT_EQ(f.flow->stats().exposed_s, 0.5 * collectives);
    std::map<std::string, int64_t> events;  // by lane, step and name
    const auto trace = nlohmann::json::parse(timeline.Json());
    double first_us = -1;
    for (const auto& event : trace.at("traceEvents")) {
      if (event.at("ph") != "X") continue;
      if (first_us < 0) first_us = event.at("ts");
      const int64_t step = event.at("args").at("step");
      const std::string lane = event.at("cat"), name = event.at("name");
      ++events[StrCat(lane, " ", step, " ", name)];
      const int64_t number = (step - 1) * collectives + (name[1] - '0');
      const double begin_s = (event.at("ts").get<double>() - first_us) / 1e6;
      const bool wait = lane == lane::kBucketWait;
      EXPECT_NEAR(begin_s, static_cast<double>(number - collectives) + (wait ? 0.25 : 0), 1e-6);
      EXPECT_NEAR(event.at("dur").get<double>(), wait ? 5e5 : 2.5e5, 1);
      EXPECT_EQ(event.at("args").contains("bytes"), !wait);
    }
    EXPECT_EQ(events.size(), static_cast<size_t>(2 * 2 * collectives));
    EXPECT_EQ(events["bucket transfer 2 p0"], 1);
    EXPECT_EQ(events["bucket wait 3 p5"], 1);
    // Settled times count once.
    RunStep(3, f.flow.get(), &timeline);
    EXPECT_EQ(f.flow->stats().exposed_s, 0.5 * collectives);
  });
}

TEST(DeviceTransportTest, AnErrorOfTheTransportEndsTheStep) {
  RunWithDevices(2, [](Device* device, Communicator* comm) {
    TestFlow f(OddLayout(), Options(device, CommConfig::PER_TENSOR, "auto"), DType::kFP32, comm);
    f.flow->BeginStep(6);
    FailTransportOf("p3");
    int ranges = 0;
    try {
      f.flow->Finish([&](const std::vector<ElementRange>&) { ++ranges; });
      ADD_FAILURE() << "no exception";
    } catch (const CommError& e) {
      EXPECT_NE(std::string(e.what()).find("p3, step 7"), std::string::npos) << e.what();
    }
    EXPECT_EQ(ranges, 3);
  });
}

std::string UserErrorOf(const GradientFlowOptions& options, Communicator* comm) {
  try {
    TestFlow f(OddLayout(), options, DType::kFP32, comm);
    return "";
  } catch (const UserError& e) {
    return e.what();
  }
}

TEST(DeviceTransportTest, HostMeansHost) {
  RunWithDevices(2, [](Device* device, Communicator* comm) {
    TestFlow f(OddLayout(), Options(device, CommConfig::LAZY, "host"), DType::kFP32, comm);
    EXPECT_EQ(f.flow->Describe().rfind("through host memory, auto: ", 0), 0u);
    f.flow->BeginStep(0);
    f.flow->Finish([](const std::vector<ElementRange>&) {});
    EXPECT_TRUE(TransportLog()->empty());
  });
}

TEST(DeviceTransportTest, AnAlgorithmThatTheConfigNamesIsFollowed) {
  RunWithDevices(3, [](Device* device, Communicator* comm) {
    GradientFlowOptions options = Options(device, CommConfig::AFTER_BACKWARD, "auto");
    options.config.set_algorithm("halving_doubling");
    TestFlow f(OddLayout(), options, DType::kFP32, comm);
    EXPECT_EQ(f.flow->Describe(), "by the device, halving_doubling, 1 bucket");
    f.flow->BeginStep(0);
    f.flow->Finish([](const std::vector<ElementRange>&) {});
    EXPECT_NE(TransportLog()->front().find("(allreduce, halving_doubling)"), std::string::npos)
        << TransportLog()->front();
  });
}

TEST(DeviceTransportTest, WhatOnlyTheHostDoesIsDoneByTheHostAndSaid) {
  RunWithDevices(2, [](Device* device, Communicator* comm) {
    GradientFlowOptions options = Options(device, CommConfig::LAZY, "auto");
    options.config.set_algorithm("native");
    TestFlow f(OddLayout(), options, DType::kFP32, comm);
    EXPECT_EQ(
        f.flow->Describe().rfind("through host memory (comm.algorithm: native is the host's)"), 0u)
        << f.flow->Describe();
    options.config.set_device_transport("nccl");
    EXPECT_NE(UserErrorOf(options, comm).find("comm.algorithm: native is the host's"),
              std::string::npos)
        << UserErrorOf(options, comm);
    options.config.set_algorithm("auto");
    options.config.set_threshold_auto(true);
    EXPECT_NE(UserErrorOf(options, comm).find("comm.threshold_auto"), std::string::npos);
  });
}

TEST(DeviceTransportTest, RanksThatShareADeviceGoThroughTheHostAndAreNamed) {
  RunLocal({"a", "b", "b"}, 60, [](Communicator* comm) {
    SeparateDevice device("slot 0");
    TestFlow f(OddLayout(), Options(&device, CommConfig::LAZY, "auto"), DType::kFP32, comm);
    const std::string reason = "ranks 1, 2 share the device slot 0 of host b";
    EXPECT_NE(f.flow->Describe().find("(" + reason + ")"), std::string::npos) << f.flow->Describe();
    const std::string error = UserErrorOf(Options(&device, CommConfig::LAZY, "nccl"), comm);
    EXPECT_NE(error.find(reason), std::string::npos) << error;
  });
}

TEST(DeviceTransportTest, ImpossibleTransportsAreTheUsersError) {
  RunWithDevices(2, [](Device* device, Communicator* comm) {
    EXPECT_NE(UserErrorOf(Options(device, CommConfig::LAZY, "tcp"), comm)
                  .find("comm.device_transport is \"tcp\", must be auto, nccl or host"),
              std::string::npos);
    EXPECT_NE(UserErrorOf(Options(TestDevice(), CommConfig::LAZY, "nccl"), comm)
                  .find("the device is \"cpu\""),
              std::string::npos);
    EXPECT_EQ(UserErrorOf(Options(TestDevice(), CommConfig::LAZY, "host"), comm), "");
  });
}

}  // namespace
}  // namespace gf
