#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/random.h"
#include "tests/comm/flow/gradient_flow_checks.h"

namespace gf {

// Weights of several shapes, one of them longer than a segment of TOPK, with biases between them.
inline PoolLayout WeightLayout() {
  PoolLayout layout;
  for (const Shape& shape :
       {Shape{70, 1000}, Shape{70}, Shape{64, 67}, Shape{8, 1, 3, 3}, Shape{33}, Shape{96, 100}}) {
    PoolEntry entry;
    entry.name = "p" + std::to_string(layout.entries().size());
    entry.shape = shape;
    layout.Add(entry);
  }
  return layout;
}

// RandomStep's, for element i of the pool.
inline float RandomGradient(int step, int rank, int64_t i) {
  const auto words =
      Philox(static_cast<uint64_t>(step), static_cast<uint64_t>(rank), static_cast<uint64_t>(i));
  return static_cast<float>(2 * ToUniform(words[0]) - 1);
}

// Fills the pool with change(i, RandomGradient's) and runs a step.
template <typename Change>
void RandomStep(TestFlow* f, int step, int rank, const Change& change) {
  f->flow->BeginStep(step);
  const auto& entries = f->layout.entries();
  for (size_t e = 0; e < entries.size(); ++e) {
    for (int64_t i = 0; i < entries[e].count; ++i) {
      const int64_t element = entries[e].offset + i;
      f->Set(element, change(element, RandomGradient(step, rank, element)));
    }
    f->flow->GradientsReady({static_cast<int>(e)});
  }
  f->flow->Finish([](const std::vector<ElementRange>&) {});
}
inline void RandomStep(TestFlow* f, int step, int rank) {
  RandomStep(f, step, rank, [](int64_t, float gradient) { return gradient; });
}

// Whether every rank has these bits.
inline bool SameOnAllRanks(const Tensor& pool, Communicator* comm) {
  const std::string bytes(pool.as<char>(), pool.desc.bytes());
  for (const std::string& other : comm->AllGather(bytes, "bits")) {
    if (other != bytes) return false;
  }
  return true;
}

// A step: "", or which element is not in exactly one range, or out of order in its call.
inline std::string CoveredOnce(TestFlow* f) {
  std::string wrong;
  std::vector<int> covered(f->layout.count());
  f->flow->BeginStep(0);
  f->flow->Finish([&](const std::vector<ElementRange>& ranges) {
    int64_t end = 0;
    for (const ElementRange& range : ranges) {
      if (range.begin < end) wrong = "out of order: " + std::to_string(range.begin);
      end = range.end;
      for (int64_t i = range.begin; i < range.end; ++i) ++covered[i];
    }
  });
  for (const PoolEntry& entry : f->layout.entries()) {
    for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
      if (covered[i] != 1) wrong = "not once: " + std::to_string(i);
    }
  }
  return wrong;
}

// LOW_RANK on a device against that of the processor.
inline void CheckLowRankOn(Device* device, Communicator* comm) {
  for (DType dtype : {DType::kFP32, DType::kBF16}) {
    GradientFlowOptions options = FlowOptions(CommConfig::LOW_RANK);
    options.config.mutable_low_rank()->set_rank(3);
    options.config.mutable_low_rank()->set_warmup_fraction(0.2);
    options.total_steps = 10;
    TestFlow expected(WeightLayout(), options, dtype, comm);
    TestFlow tested(WeightLayout(), On(device, options), dtype, comm);
    for (int step = 0; step < 10; ++step) {
      RandomStep(&expected, step, comm->rank());
      RandomStep(&tested, step, comm->rank());
      ASSERT_EQ(std::memcmp(tested.host.data, expected.host.data, tested.host.desc.bytes()), 0)
          << "step " << step;
      EXPECT_EQ(tested.flow->stats().wire_bytes, expected.flow->stats().wire_bytes);
      if (step != 5) continue;
      expected.flow->Rescale(0.5f);
      tested.flow->Rescale(0.5f);
    }
    const Tensor residual = SeparateDevice::HostView(tested.flow->residual());
    EXPECT_EQ(std::memcmp(residual.data, expected.flow->residual().data, residual.desc.bytes()), 0);
  }
}

// QUANTIZED on a device against that of the processor; a step has an infinite gradient.
inline void CheckQuantizedOn(Device* device, Communicator* comm) {
  for (DType dtype : {DType::kFP32, DType::kBF16}) {
    for (const bool rotate : {false, true}) {
      GradientFlowOptions options = FlowOptions(CommConfig::QUANTIZED);
      options.config.mutable_quantized()->set_bits(rotate ? 4 : 8);
      options.config.mutable_quantized()->set_rotate(rotate);
      TestFlow expected(WeightLayout(), options, dtype, comm);
      TestFlow tested(WeightLayout(), On(device, options), dtype, comm);
      for (int step = 0; step < 6; ++step) {
        for (TestFlow* f : {&expected, &tested}) {
          RandomStep(f, step, comm->rank(), [&](int64_t i, float g) {
            return step == 2 && comm->rank() == 0 && i == 300 ? INFINITY : g;
          });
        }
        ASSERT_EQ(std::memcmp(tested.host.data, expected.host.data, tested.host.desc.bytes()), 0)
            << "step " << step;
        EXPECT_EQ(std::isnan(tested.Get(300)), step == 2);
        EXPECT_EQ(tested.flow->stats().wire_bytes, expected.flow->stats().wire_bytes);
        if (step != 3) continue;
        expected.flow->Rescale(0.5f);
        tested.flow->Rescale(0.5f);
      }
      const Tensor residual = SeparateDevice::HostView(tested.flow->residual());
      EXPECT_EQ(std::memcmp(residual.data, expected.flow->residual().data, residual.desc.bytes()),
                0);
    }
  }
}

// SPARSE on a device against that of the processor, in every type that can travel.
inline void CheckSparseOn(Device* device, Communicator* comm) {
  for (DType dtype : {DType::kFP32, DType::kBF16}) {
    for (CommConfig::WireType wire : {CommConfig::FP32, CommConfig::BF16}) {
      GradientFlowOptions options = FlowOptions(CommConfig::SPARSE);
      options.config.set_wire_type(wire);
      options.config.mutable_sparse()->set_density(0.2);
      options.config.mutable_sparse()->set_warmup_fraction(0.3);
      options.total_steps = 10;
      options.momentum = 0.9f;
      TestFlow expected(OddLayout(), options, dtype, comm);
      TestFlow tested(OddLayout(), On(device, options), dtype, comm);
      for (int step = 0; step < 10; ++step) {
        RandomStep(&expected, step, comm->rank());
        RandomStep(&tested, step, comm->rank());
        ASSERT_EQ(tested.flow->important_chunks(), expected.flow->important_chunks());
        ASSERT_EQ(std::memcmp(tested.host.data, expected.host.data, tested.host.desc.bytes()), 0)
            << "step " << step;
        EXPECT_EQ(tested.flow->stats().wire_bytes, expected.flow->stats().wire_bytes);
        if (step != 5) continue;
        expected.flow->Rescale(0.5f);
        tested.flow->Rescale(0.5f);
      }
      const Tensor residual = SeparateDevice::HostView(tested.flow->residual());
      EXPECT_EQ(std::memcmp(residual.data, expected.flow->residual().data, residual.desc.bytes()),
                0);
    }
  }
}

// TOPK on a device against that of the processor, in every type that can travel.
inline void CheckTopkOn(Device* device, Communicator* comm) {
  for (DType dtype : {DType::kFP32, DType::kBF16}) {
    for (CommConfig::WireType wire : {CommConfig::FP32, CommConfig::BF16}) {
      GradientFlowOptions options = FlowOptions(CommConfig::TOPK);
      options.config.set_wire_type(wire);
      options.config.mutable_topk()->set_density(0.02);
      options.config.mutable_topk()->set_warmup_fraction(0.5);
      options.total_steps = 10;
      options.momentum = 0.9f;
      TestFlow expected(WeightLayout(), options, dtype, comm);
      TestFlow tested(WeightLayout(), On(device, options), dtype, comm);
      for (int step = 0; step < 10; ++step) {
        RandomStep(&expected, step, comm->rank());
        RandomStep(&tested, step, comm->rank());
        ASSERT_EQ(std::memcmp(tested.host.data, expected.host.data, tested.host.desc.bytes()), 0)
            << "step " << step;
        EXPECT_EQ(tested.flow->stats().wire_bytes, expected.flow->stats().wire_bytes);
        EXPECT_EQ(tested.flow->carries_momentum(), expected.flow->carries_momentum());
        if (step != 5) continue;
        expected.flow->Rescale(0.5f);
        tested.flow->Rescale(0.5f);
      }
      const auto state = tested.flow->State(), of_expected = expected.flow->State();
      ASSERT_EQ(state.size(), of_expected.size());
      for (size_t i = 0; i < state.size(); ++i) {
        const Tensor pool = SeparateDevice::HostView(state[i].second);
        EXPECT_EQ(std::memcmp(pool.data, of_expected[i].second.data, pool.desc.bytes()), 0);
      }
    }
  }
}

// Error feedback on a device against that of the processor.
inline void CheckFeedbackOn(Device* device, Communicator* comm) {
  for (CommConfig::WireType wire : {CommConfig::BF16, CommConfig::FP16}) {
    GradientFlowOptions options = FlowOptions(CommConfig::LAZY);
    options.config.set_wire_type(wire);
    options.config.set_error_feedback(true);
    TestFlow expected(OddLayout(), options, DType::kFP32, comm);
    TestFlow tested(OddLayout(), On(device, options), DType::kFP32, comm);
    for (int step = 0; step < 5; ++step) {
      RandomStep(&expected, step, comm->rank());
      RandomStep(&tested, step, comm->rank());
      ASSERT_EQ(std::memcmp(tested.host.data, expected.host.data, tested.host.desc.bytes()), 0)
          << "step " << step;
      if (comm->size() == 1) continue;  // nothing is kept
      const Tensor residual = SeparateDevice::HostView(tested.flow->residual());
      ASSERT_EQ(std::memcmp(residual.data, expected.flow->residual().data, residual.desc.bytes()),
                0);
      expected.flow->Rescale(0.5f);
      tested.flow->Rescale(0.5f);
    }
  }
}

// Weights and momentum of w -= lr * (m = 0.9 m + sum), each kept up in the ranges that are handed
// over, after five steps.
inline std::vector<float> TrainOn(Device* device, bool sharded, Communicator* comm) {
  GradientFlowOptions options = On(device, FlowOptions(CommConfig::LAZY));
  options.config.set_sharded_update(sharded);
  const PoolLayout layout = OddLayout();
  const auto pool = [&] {
    Tensor tensor;
    tensor.desc = {Shape{layout.count()}, DType::kFP32, Layout()};
    tensor.owner = device->Allocate(tensor.desc.bytes());
    tensor.data = tensor.owner.get();
    return tensor;
  };
  const auto host = [&](const Tensor& tensor) {
    const bool shared = device->shares_host_memory();
    return shared ? tensor.as<float>() : SeparateDevice::HostView(tensor).as<float>();
  };
  options.master = pool();
  const Tensor momentum = pool();
  float* const w = host(options.master);
  float* const m = host(momentum);
  TestFlow f(layout, options, DType::kFP32, comm);
  for (int step = 0; step < 5; ++step) {
    f.flow->BeginStep(step);
    for (const PoolEntry& entry : layout.entries()) {
      for (int64_t i = entry.offset; i < entry.offset + entry.count; ++i) {
        f.Set(i, 1.f / static_cast<float>(1 + (i + step) % 97 + 13 * comm->rank()));
      }
    }
    f.flow->Finish([&](const std::vector<ElementRange>& ranges) {
      for (const ElementRange& range : ranges) {
        for (int64_t i = range.begin; i < range.end; ++i) {
          m[i] = 0.9f * m[i] + f.Get(i);
          w[i] -= 0.1f * m[i];
        }
      }
    });
  }
  f.flow->Complete(momentum);
  std::vector<float> result(w, w + layout.count());
  result.insert(result.end(), m, m + layout.count());
  return result;
}

}  // namespace gf
