// What is simulated is what the product sends.
#include "comm/price/bucket_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "comm/flow/gradient_flow.h"
#include "comm/local/communicator.h"
#include "comm/sparse/selection.h"
#include "core/config/config.h"
#include "simulate/net_model.h"

namespace gf {
namespace {

using Sent = std::vector<std::pair<std::string, int64_t>>;  // names and bytes on the wire

// What rank 0 of two sends in a step of a flow; `chunks`: the important ones.
Sent RealStep(const PoolLayout& layout, const CommConfig& config,
              const std::vector<int64_t>& chunks) {
  Sent sent;
  RunLocal(2, 60, [&](Communicator* comm) {
    const auto device = DeviceRegistry::Get().Create("device", "cpu", 1);
    Timeline timeline(comm->rank(), "local", {1, 1});
    GradientFlowOptions options;
    options.config = config;
    options.deterministic = true;
    options.total_steps = 100;
    options.device = device.get();
    options.timeline = &timeline;
    Tensor gradients;
    gradients.desc = {Shape{layout.count()}, DType::kFP32, Layout()};
    gradients.owner = device->Allocate(gradients.desc.bytes());
    gradients.data = gradients.owner.get();
    const auto flow = NewGradientFlow(layout, gradients, comm, options);
    if (!chunks.empty()) flow->Restore(chunks);
    timeline.SetStep(1);
    flow->BeginStep(50);
    for (size_t i = 0; i < layout.entries().size(); ++i) {
      flow->GradientsReady({static_cast<int>(i)});
    }
    flow->Finish([](const std::vector<ElementRange>&) {});
    if (comm->rank() != 0) return;
    const auto trace = nlohmann::json::parse(timeline.Json());
    for (const auto& event : trace["traceEvents"]) {
      if (event.value("cat", "") != lane::kBucketTransfer) continue;
      sent.emplace_back(event["name"], event["args"]["bytes"]);
    }
  });
  return sent;
}

Sent Simulated(const BucketSchedule& schedule, int64_t wire_bytes) {
  Sent sent;
  for (const Send& send : schedule.sends) {
    const int64_t allreduced = send.bytes >= 0 ? send.bytes : send.elements * wire_bytes;
    // The memory of an encoded sum holds the vectors of both directions.
    const int64_t others = send.encoded > 0 ? 2 * send.encoded : send.gathered;
    sent.emplace_back(send.name, others > 0 ? others : allreduced);
  }
  return sent;
}

class BucketScheduleTest : public testing::TestWithParam<const char*> {
 protected:
  const NetModel net_ = ModelOf(ReadNet(std::string("models/") + GetParam() + ".prototxt"), 2,
                                GetParam() == std::string("lenet") ? Shape() : Shape{3, 32, 32});
};

TEST_P(BucketScheduleTest, DenseModesSendWhatIsSimulated) {
  for (const auto mode : {CommConfig::PER_TENSOR, CommConfig::AFTER_BACKWARD, CommConfig::LAZY}) {
    for (const int64_t threshold : {int64_t{1}, int64_t{100'000}, int64_t{4} << 20}) {
      CommConfig config;
      config.set_mode(mode);
      config.set_algorithm("ring");
      config.set_threshold_first(threshold);
      config.set_threshold_middle(2 * threshold);
      const BucketSchedule schedule = DenseSchedule(net_.layout, config, 4);
      EXPECT_EQ(RealStep(net_.layout, config, {}), Simulated(schedule, 4))
          << CommConfig::Mode_Name(mode) << " " << threshold;
    }
  }
}

TEST_P(BucketScheduleTest, SparseStepsSendWhatIsSimulated) {
  for (const double density : {0.05, 0.15, 0.6}) {
    for (const int64_t chunk : {1000, 32000}) {
      CommConfig config;
      config.set_mode(CommConfig::SPARSE);
      config.set_algorithm("ring");
      config.set_threshold_first(50'000);
      config.set_threshold_middle(200'000);
      config.mutable_sparse()->set_density(density);
      config.mutable_sparse()->set_chunk_size(chunk);
      config.mutable_sparse()->set_warmup_fraction(0);
      const BucketSchedule schedule = SparseSchedule(net_.layout, config, 4, density);
      const ChunkGrid grid(net_.layout.count(), chunk);
      const int64_t chosen = ChunksAt(density, grid.chunks());
      if (chosen == grid.chunks()) continue;
      std::vector<int64_t> chunks;
      for (int64_t i = 0; i < chosen; ++i)
        chunks.push_back((2 * i + 1) * grid.chunks() / (2 * chosen));
      Sent expected = Simulated(schedule, 4);
      expected.emplace_back("norms of chunks", schedule.norms * 4);
      EXPECT_EQ(RealStep(net_.layout, config, chunks), expected) << density << " " << chunk;
      // Chunks that do not lie evenly.
      for (int64_t i = 0; i < chosen; ++i) chunks[i] = i * i / (2 * chosen) + i / 2;
      chunks.erase(std::unique(chunks.begin(), chunks.end()), chunks.end());
      expected = Simulated(SparseSchedule(net_.layout, config, 4, ChunkSet(grid, chunks)), 4);
      expected.emplace_back("norms of chunks", grid.chunks() * 4);
      EXPECT_EQ(RealStep(net_.layout, config, chunks), expected) << density << " " << chunk;
    }
  }
}

TEST_P(BucketScheduleTest, TopkStepsSendWhatIsSimulated) {
  for (const double density : {0.001, 0.1, 0.9}) {
    for (const DType wire : {DType::kFP32, DType::kBF16}) {
      CommConfig config;
      config.set_mode(CommConfig::TOPK);
      config.set_algorithm("ring");
      config.set_threshold_first(50'000);
      config.set_threshold_middle(200'000);
      config.set_wire_type(wire == DType::kFP32 ? CommConfig::FP32 : CommConfig::BF16);
      config.mutable_topk()->set_density(density);
      config.mutable_topk()->set_warmup_fraction(0);
      const BucketSchedule schedule = ScheduleOf(net_.layout, config, wire, 2, density);
      EXPECT_EQ(schedule.topk, density < 0.5);
      EXPECT_EQ(RealStep(net_.layout, config, {}),
                Simulated(schedule, static_cast<int64_t>(SizeOf(wire))))
          << density << " " << Name(wire);
    }
  }
}

TEST_P(BucketScheduleTest, LowRankStepsSendWhatIsSimulated) {
  for (const int rank : {1, 4}) {
    CommConfig config;
    config.set_mode(CommConfig::LOW_RANK);
    config.set_algorithm("ring");
    config.set_threshold_first(50'000);
    config.set_threshold_middle(200'000);
    config.mutable_low_rank()->set_rank(rank);
    config.mutable_low_rank()->set_warmup_fraction(0.1);
    const BucketSchedule schedule =
        ScheduleOf(net_.layout, config, DType::kFP32, 2, DensityOf(config));
    EXPECT_TRUE(schedule.low_rank);
    Sent expected = Simulated(schedule, 4);
    expected.emplace_back(schedule.last.name, schedule.last.bytes);
    EXPECT_EQ(RealStep(net_.layout, config, {}), expected) << rank;
    const double warm = DensityIn(9, 100, config);
    EXPECT_EQ(Simulated(ScheduleOf(net_.layout, config, DType::kFP32, 2, warm), 4),
              Simulated(DenseSchedule(net_.layout, config, 4), 4));
    EXPECT_EQ(DensityIn(10, 100, config), 0);
  }
}

TEST_P(BucketScheduleTest, QuantizedStepsSendWhatIsSimulated) {
  for (const int bits : {8, 4}) {
    CommConfig config;
    config.set_mode(CommConfig::QUANTIZED);
    config.set_algorithm("ring");
    config.set_threshold_first(50'000);
    config.set_threshold_middle(200'000);
    config.mutable_quantized()->set_bits(bits);
    EXPECT_EQ(DensityOf(config), 1);
    EXPECT_EQ(DensityIn(0, 100, config), 1);
    EXPECT_EQ(DensityIn(99, 100, config), 1) << "no warm-up";
    const BucketSchedule schedule =
        ScheduleOf(net_.layout, config, DType::kFP32, 2, DensityOf(config));
    EXPECT_EQ(schedule.code_bytes, bits / 8.0 + 4.0 / 256);
    EXPECT_EQ(RealStep(net_.layout, config, {}), Simulated(schedule, 4)) << bits;
    int64_t sent = 0, elements = 0;
    for (const Send& send : schedule.sends) sent += send.elements;
    for (const PoolEntry& entry : net_.layout.entries()) elements += entry.count;
    EXPECT_EQ(sent, elements);
    EXPECT_GT(schedule.sends.size(), 2u);
    EXPECT_EQ(schedule.sends.back().encoded, 0) << "biases travel as they are";
    for (size_t i = 0; i + 1 < schedule.sends.size(); ++i) {
      const Send& send = schedule.sends[i];
      const double codes = static_cast<double>(send.elements) * schedule.code_bytes;
      // Blocks and parts are filled up.
      EXPECT_GE(static_cast<double>(send.encoded), codes) << send.name;
      EXPECT_LE(static_cast<double>(send.encoded), 1.1 * codes) << send.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Nets, BucketScheduleTest, testing::Values("lenet", "resnet20_cifar"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace gf
