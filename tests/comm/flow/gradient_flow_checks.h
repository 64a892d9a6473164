#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "comm/flow/gradient_flow.h"
#include "tests/comm/separate_device.h"

namespace gf {

inline Device* TestDevice() {
  static Device* const device =
      DeviceRegistry::Get().Create("device", "cpu", 1 /* thread */).release();
  return device;
}

// Parameters of odd sizes, so that the pool has gaps.
inline PoolLayout OddLayout() {
  PoolLayout layout;
  int i = 0;
  for (int64_t count : {10, 1, 4097, 32, 33, 100000}) {
    PoolEntry entry;
    entry.name = "p" + std::to_string(i++);
    entry.shape = Shape{count};
    layout.Add(entry);
  }
  return layout;
}

inline GradientFlowOptions FlowOptions(CommConfig::Mode mode) {
  GradientFlowOptions options;
  options.config.set_mode(mode);
  options.config.set_algorithm("ring");
  // Small, so that the odd layout has several buckets.
  options.config.set_threshold_first(1000);
  options.config.set_threshold_middle(20000);
  options.config.set_threshold_last(100);
  options.config.mutable_sparse()->set_chunk_size(1000);
  options.device = TestDevice();
  return options;
}

// These on another device, which carries gradients itself if it can and has an address.
inline GradientFlowOptions On(Device* device, GradientFlowOptions options) {
  options.device = device;
  if (!device->Address().empty()) options.config.set_algorithm("auto");
  return options;
}

// A pool of gradients on options.device and the flow that exchanges them.
struct TestFlow {
  TestFlow(const PoolLayout& pool_layout, const GradientFlowOptions& options, DType dtype,
           Communicator* comm)
      : layout(pool_layout) {
    gradients.desc = {Shape{layout.count()}, dtype, Layout()};
    gradients.owner = options.device->Allocate(gradients.desc.bytes() + 1);
    gradients.data = gradients.owner.get();
    const bool on_host = options.device->shares_host_memory();
    host = on_host ? gradients : SeparateDevice::HostView(gradients);
    flow = NewGradientFlow(layout, gradients, comm, options);
  }
  float Get(int64_t i) const {
    return host.desc.dtype == DType::kFP32 ? host.as<float>()[i] : FromBF16(host.as<uint16_t>()[i]);
  }
  void Set(int64_t i, float value) {
    if (host.desc.dtype == DType::kFP32) {
      host.as<float>()[i] = value;
    } else {
      host.as<uint16_t>()[i] = ToBF16(value);
    }
  }

  const PoolLayout layout;
  Tensor gradients;
  Tensor host;  // the same, as the host sees it
  std::unique_ptr<GradientFlow> flow;
};

// Several steps of a dense mode: each entry comes in exactly one range, in order, summed once over
// the ranks when its range is handed over.
inline void CheckSumsOnce(const GradientFlowOptions& options, DType dtype, Communicator* comm) {
  TestFlow f(OddLayout(), options, dtype, comm);
  const auto& entries = f.layout.entries();
  const DType wire = WireTypeOf(options.config, dtype);
  for (int step = 0; step < 3; ++step) {
    f.flow->BeginStep(step);
    // Small integers: exact in all types.
    for (size_t e = 0; e < entries.size(); ++e) {
      for (int64_t i = entries[e].offset; i < entries[e].offset + entries[e].count; ++i) {
        f.Set(i, static_cast<float>((i + step + comm->rank()) % 8));
      }
      if (e % 2 == 1) f.flow->GradientsReady({static_cast<int>(e) - 1, static_cast<int>(e)});
    }
    size_t next = 0;
    int64_t bytes = 0, ranges = 0, wrong = 0;
    f.flow->Finish([&](const std::vector<ElementRange>& reduced) {
      ASSERT_EQ(reduced.size(), 1u);
      const ElementRange& range = reduced[0];
      ++ranges;
      bytes += (range.end - range.begin) * SizeOf(wire);
      EXPECT_EQ(range.begin, entries[next].offset);
      for (; next < entries.size() && entries[next].offset < range.end; ++next) {
        const PoolEntry& entry = entries[next];
        EXPECT_GE(range.end, entry.offset + entry.count);
        for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
          float sum = 0;
          for (int r = 0; r < comm->size(); ++r) sum += static_cast<float>((i + step + r) % 8);
          wrong += f.Get(i) != sum;
        }
      }
    });
    EXPECT_EQ(next, entries.size());
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(ranges, static_cast<int64_t>(f.flow->Buckets().size()));
    const bool alone = comm->size() == 1;
    EXPECT_EQ(f.flow->stats().allreduces, alone ? 0 : ranges);
    EXPECT_EQ(f.flow->stats().wire_bytes, alone ? 0 : bytes);
    EXPECT_GE(f.flow->stats().exposed_s, 0);
  }
}

// Every dense mode, with and without overlap, in every type that can travel.
inline void CheckDenseModesOn(Device* device, Communicator* comm) {
  for (CommConfig::Mode mode :
       {CommConfig::PER_TENSOR, CommConfig::AFTER_BACKWARD, CommConfig::LAZY}) {
    for (bool overlap : {false, true}) {
      for (CommConfig::WireType wire :
           {CommConfig::GRADIENT, CommConfig::FP32, CommConfig::BF16, CommConfig::FP16}) {
        GradientFlowOptions options = FlowOptions(mode);
        options.config.set_overlap(overlap);
        options.config.set_wire_type(wire);
        options = On(device, options);
        SCOPED_TRACE(CommConfig::Mode_Name(mode) + " " + CommConfig::WireType_Name(wire));
        CheckSumsOnce(options, DType::kFP32, comm);
        CheckSumsOnce(options, DType::kBF16, comm);
      }
    }
  }
}
inline void CheckDenseModes(Communicator* comm) { CheckDenseModesOn(TestDevice(), comm); }

}  // namespace gf
